package dev.berth.cluster.control;

import dev.berth.cluster.control.ControlForm.Answer;
import dev.berth.cluster.control.ControlForm.Beat;
import dev.berth.cluster.control.ControlForm.Bus;
import dev.berth.cluster.control.ControlForm.Command;
import dev.berth.cluster.control.ControlForm.Event;
import dev.berth.cluster.control.ControlForm.Inventory;
import dev.berth.cluster.control.ControlForm.Leaving;
import dev.berth.cluster.control.ControlForm.NodeBeat;
import dev.berth.cluster.control.ControlForm.NodeLeft;
import dev.berth.cluster.link.HeartbeatMonitor;
import dev.berth.cluster.link.LinkSweep;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.membership.ClusterEpoch;
import dev.berth.cluster.membership.Fence;
import dev.berth.cluster.membership.Handshake;
import dev.berth.cluster.membership.Handshake.HandshakeHello;
import dev.berth.cluster.membership.Handshake.HandshakeRefused;
import dev.berth.cluster.membership.Handshake.Welcome;
import dev.berth.cluster.membership.MemberList;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.config.ClusterConfig.ClusterRole;
import dev.berth.protocol.wire.WireCodec;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A node's end of its control link, which finds the controller and reconnects to it. Thread-safe:
 * the state is confined to the links' event loop, and the calls of one thread take effect in their
 * order.
 */
public final class ControlClient {
  private static final Logger LOG = LoggerFactory.getLogger(ControlClient.class);

  /** Maximum number of requests in flight; more are rejected. */
  static final int MAX_PENDING_REQUESTS = 1024;

  /** Time to send the refusal to the controller before the link ends, in milliseconds. */
  private static final long REFUSAL_SEND_MS = 100;

  private static final long FIRST_RETRY_MS = 100;
  private static final long LAST_RETRY_MS = 1_000;

  /**
   * Receives the events of the link on the control event loop, in order. The methods for the
   * controller's messages do nothing by default, because a controller on the same node calls the
   * node directly.
   */
  public interface ControlClientListener {
    /** Notifies the node that it was admitted, for the first time or again. */
    void onWelcome(Welcome welcome);

    /** Returns some of the applications with replicas on this node, for display. */
    default List<String> runs() {
      return List.of();
    }

    /** Returns the current inventory of this node. */
    Buffer inventory();

    default void onCommand(Buffer payload) {}

    default void onBusMessage(Buffer payload) {}

    /** Receives a member list that is newer than all before. */
    default void onMembers(MemberList members) {}

    /**
     * Returns the names of nodes that are unreachable from this node. Called on the links' event
     * loop.
     */
    Collection<String> unreachable();

    /**
     * Notifies the node that its lease is renewed as of a time on the node's clock. The controller
     * received a message that was sent then, or no process listened at any of its addresses since
     * then. Called on the links' event loop.
     */
    default void onLeaseRenewed(long sentNanos) {}

    /** Notifies the node that it lost its controller, or has one again. */
    default void onNoController(boolean none) {}
  }

  private final ControlLoops loops;
  private final ControlClientSettings self;
  private final Connector connector;
  private final RandomGenerator random;
  private final ControlClientListener listener;
  private final Fence fence = new Fence();
  private final Queue<SocketAddress> untried = new ArrayDeque<>();
  private final Map<Long, Promise<Buffer>> asked = new HashMap<>();
  private final Promise<Void> left;
  private @Nullable LinkSweep sweep;
  private @Nullable Session session; // the current one
  private MemberList members = MemberList.NONE;
  private long registration;
  private long lastEvent;
  private long lastAsk;
  private long sweptNanos;
  private long retryMs = FIRST_RETRY_MS;
  private long roundNanos; // first dial of the addresses
  private boolean isRoundRefused; // so far, each dial of the round
  private boolean leaving;
  private boolean stopped;
  private volatile String said = ""; // logged reason for the missing controller

  /**
   * The identity and the settings of the node.
   *
   * @param control names of the control nodes; empty where unknown
   * @param interval interval between heartbeats
   * @param timeout silence after which a link ends
   */
  public record ControlClientSettings(
      String cluster, NodeInfo node, Set<String> control, Duration interval, Duration timeout) {}

  public ControlClient(
      ControlLoops loops,
      ControlClientSettings self,
      Connector connector,
      RandomGenerator random,
      ControlClientListener listener) {
    this.loops = loops;
    this.self = self;
    this.connector = connector;
    this.random = random;
    this.listener = listener;
    this.left = loops.links().promise(); // completes on that loop
  }

  /** Connects to a controller, and reconnects until {@link #stop}. */
  public void start() {
    loops.run(
        () -> {
          sweptNanos = loops.now();
          sweep = new LinkSweep(loops.links(), self.interval, loops.nanoClock(), this::sweep);
          next();
        });
  }

  // --- messages of the node ---

  /**
   * Numbers and sends an event of this node. Without a link, or before the link's inventory, the
   * event is not sent, because that inventory will contain it.
   */
  public void event(Buffer payload) {
    loops.run(
        () -> {
          lastEvent++;
          send(new Event(lastEvent, payload), session != null && session.isTold);
        });
  }

  /** Sends a bus message; dropped while there is no controller. */
  public void bus(Buffer payload) {
    loops.run(() -> send(new Bus(0, payload), isWelcome()));
  }

  /**
   * Sends a bus message and returns the reply. Fails when there is no controller, when {@link
   * #MAX_PENDING_REQUESTS} requests are in flight, when the link ends, and after the timeout.
   */
  public Future<Buffer> ask(Buffer payload) {
    Promise<Buffer> answer = loops.links().promise();
    loops.run(
        () -> {
          if (!isWelcome() || asked.size() == MAX_PENDING_REQUESTS) {
            answer.fail("controller unreachable or overloaded");
            return;
          }
          long ask = ++lastAsk;
          asked.put(ask, answer);
          long timer =
              loops
                  .links()
                  .setTimer(self.timeout.toMillis(), due -> answer.tryFail("no reply in time"));
          answer
              .future()
              .onComplete(
                  over -> {
                    asked.remove(ask);
                    loops.links().owner().cancelTimer(timer);
                  });
          send(new Bus(ask, payload), true);
        });
    return answer.future();
  }

  /**
   * Announces the node's departure on this link and on later ones. Completes when the departure is
   * committed.
   */
  public Future<Void> leave() {
    loops.run(
        () -> {
          leaving = true;
          send(new Leaving(), isWelcome());
        });
    return left.future();
  }

  /** Returns the reason why there is no controller; empty while there is one. Thread-safe. */
  public String why() {
    return said;
  }

  private boolean isWelcome() {
    return session != null && session.isWelcome;
  }

  private void send(Record message, boolean may) {
    if (may) {
      Objects.requireNonNull(session).line.send(message);
    }
  }

  public Future<Void> stop() {
    Promise<Void> done = Promise.promise();
    loops.run(
        () -> {
          stopped = true;
          if (sweep != null) {
            sweep.stop();
          }
          if (session != null) {
            session.line.end("the node is stopping");
          }
          done.complete();
        });
    return done.future();
  }

  // --- finding a controller ---

  private void next() {
    if (stopped) {
      return;
    }
    if (!untried.isEmpty()) {
      connector.connect(untried.remove(), Session::new);
      return;
    }
    connector
        .addresses()
        .onComplete(
            (found, failed) -> {
              untried.addAll(found == null ? List.of() : found.all());
              isRoundRefused = found != null && found.complete();
              roundNanos = loops.now();
              if (untried.isEmpty()) {
                retry("join: no address of a control node");
              } else {
                next();
              }
            });
  }

  /**
   * Tries the next address after a delay, because a connection failed or ended. The delay doubles
   * up to {@link #LAST_RETRY_MS} and is randomised.
   */
  private void retry(String reason) {
    if (!stopped && !reason.equals(said)) {
      said = reason;
      LOG.warn("controller unreachable: {}", reason);
    }
    long wait = (long) (retryMs * (0.5 + random.nextDouble() / 2));
    retryMs = Math.min(2 * retryMs, LAST_RETRY_MS);
    loops.links().setTimer(Math.max(1, wait), due -> next());
  }

  // --- time ---

  private void sweep() {
    long now = loops.now();
    long paused = now - sweptNanos - self.interval.toNanos();
    long stoodMs = paused > self.interval.toNanos() ? TimeUnit.NANOSECONDS.toMillis(paused) : 0;
    if (stoodMs > 0) {
      LOG.warn("control loop blocked for {} ms", stoodMs);
    }
    sweptNanos = now;
    Session current = session;
    if (current != null && current.silence.sweep(now)) {
      current.line.end("silent for " + current.patience.toMillis() + " ms");
    } else if (current != null && current.isWelcome) {
      current.beat(stoodMs);
    }
  }

  /** A connection to a possible controller. */
  private final class Session implements ControlConnection.ControlConnectionHandler {
    private Duration patience = LinkTls.HANDSHAKE;
    private HeartbeatMonitor silence = silence();
    private final ControlConnection line;
    private boolean isWelcome;
    private boolean isTold; // its inventory was sent
    private boolean isRefused; // further messages are ignored
    private boolean isDialRefused;
    private long beats; // sent
    private long awaitedBeat; // number of an unanswered one, or 0
    private long awaitedNanos; // time of that, or of the HELLO

    Session(ControlConnection line) {
      this.line = line;
      session = this;
      loops.notifyListener(
          () -> {
            List<String> runs = listener.runs();
            loops.later(() -> hello(runs));
          });
    }

    private HeartbeatMonitor silence() {
      return new HeartbeatMonitor(self.interval.toNanos(), patience.toNanos(), loops.now());
    }

    private void hello(List<String> runs) {
      awaitedNanos = loops.now();
      line.send(
          new HandshakeHello(
              Handshake.VERSION,
              WireCodec.VERSION,
              self.cluster,
              self.node,
              registration,
              leaving,
              fence.seen(),
              runs));
    }

    private void beat(long stoodMs) {
      beats++;
      if (awaitedBeat == 0) {
        awaitedBeat = beats;
        awaitedNanos = loops.now();
      }
      line.send(new NodeBeat(List.copyOf(listener.unreachable()), stoodMs));
    }

    private void onBeat(Beat it) {
      if (admits(it.authority()) && awaitedBeat != 0 && it.received() >= awaitedBeat) {
        awaitedBeat = 0;
        listener.onLeaseRenewed(awaitedNanos);
      }
    }

    @Override
    public void onMessage(Record message) {
      silence.recordContact();
      if (isRefused) {
        return;
      }
      if (message instanceof Welcome it) {
        onWelcome(it);
      } else if (message instanceof HandshakeRefused it) {
        retryMs = LAST_RETRY_MS;
        line.end("refused: " + it.reason());
      } else if (message instanceof Beat it) {
        onBeat(it);
      } else if (message instanceof NodeLeft) {
        stopped = true;
        left.complete();
        line.end("the controller left");
      } else if (isWelcome) {
        onControllerMessage(message);
      }
    }

    private void onWelcome(Welcome it) {
      if (refuseIf(stranger(it.controller())) || !admits(it.authority())) {
        return;
      }
      listener.onLeaseRenewed(awaitedNanos);
      registration = it.registration();
      isWelcome = true;
      patience = self.timeout;
      silence = silence();
      retryMs = FIRST_RETRY_MS;
      said = "";
      LOG.info("controller connected: on {}; this node is {}", it.controller(), it.registration());
      loops.notifyListener(
          () -> {
            listener.onNoController(false);
            listener.onWelcome(it);
            Buffer inventory = listener.inventory();
            loops.later(() -> sendInventory(inventory));
          });
    }

    /** Returns the reason why the peer is not a control node, which a worker could claim to be. */
    private @Nullable String stranger(String controller) {
      if (!self.control.isEmpty() && !self.control.contains(controller)) {
        return "%s (expected: one of %s)".formatted(controller, self.control);
      }
      return line.refusal(self.cluster, controller, ClusterRole.CONTROL);
    }

    /** Sends the inventory. Events that it contains precede it on the same event loop. */
    private void sendInventory(Buffer inventory) {
      if (session == this) {
        isTold = true;
        line.send(new Inventory(lastEvent, inventory));
        if (leaving) {
          line.send(new Leaving());
        }
      }
    }

    private boolean admits(ClusterEpoch authority) {
      boolean admits = !refuseIf(fence.refuses(authority));
      if (admits) {
        fence.record(authority);
      }
      return admits;
    }

    private boolean refuseIf(@Nullable String reason) {
      if (reason != null && !isRefused) {
        isRefused = true;
        line.send(new HandshakeRefused(reason));
        loops.links().setTimer(REFUSAL_SEND_MS, told -> line.end("controller refused: " + reason));
      }
      return reason != null;
    }

    private void onControllerMessage(Record message) {
      if (message instanceof MemberList it && it.isAfter(members)) {
        members = it;
        loops.notifyListener(() -> listener.onMembers(it));
      } else if (message instanceof Command it && admits(it.authority())) {
        loops.notifyListener(() -> deliverOrRefuse(() -> listener.onCommand(it.payload())));
      } else if (message instanceof Bus it) {
        loops.notifyListener(() -> deliverOrRefuse(() -> listener.onBusMessage(it.payload())));
      } else if (message instanceof Answer it) {
        Promise<Buffer> waits = asked.get(it.ask());
        if (waits != null) {
          waits.tryComplete(it.payload());
        }
      }
    }

    /**
     * Applies a message of the controller. A lost message would be missing permanently. If one
     * fails, the controller is refused and must send everything again on a new link.
     */
    private void deliverOrRefuse(Runnable told) {
      try {
        told.run();
      } catch (RuntimeException unfit) {
        LOG.debug("message of the controller not applied", unfit);
        loops.run(() -> refuseIf("message of the controller not applied: " + unfit));
      }
    }

    @Override
    public void onRefused() {
      isDialRefused = true;
    }

    @Override
    public void onEnded(String reason) {
      session = null;
      isRoundRefused &= isDialRefused;
      if (isRoundRefused && untried.isEmpty()) {
        listener.onLeaseRenewed(roundNanos);
      }
      if (isWelcome) {
        loops.notifyListener(() -> listener.onNoController(true));
      }
      List.copyOf(asked.values()).forEach(each -> each.tryFail("link to the controller closed"));
      retry(reason);
    }
  }
}
