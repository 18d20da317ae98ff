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
import dev.berth.cluster.link.Link;
import dev.berth.cluster.link.LinkSweep;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.link.LogDeduplicator;
import dev.berth.cluster.membership.ClusterEpoch;
import dev.berth.cluster.membership.Handshake.HandshakeHello;
import dev.berth.cluster.membership.Handshake.HandshakeRefused;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.MemberAction;
import dev.berth.cluster.membership.MemberAction.CommitRemoval;
import dev.berth.cluster.membership.MemberAction.ConfirmLeave;
import dev.berth.cluster.membership.MemberAction.EndLink;
import dev.berth.cluster.membership.MemberAction.MembershipEvent;
import dev.berth.cluster.membership.MemberAction.ProbePort;
import dev.berth.cluster.membership.MemberAction.PublishMembers;
import dev.berth.cluster.membership.MemberAction.RefuseHello;
import dev.berth.cluster.membership.MemberAction.RegisterNode;
import dev.berth.cluster.membership.MemberAction.RemovedAsLeft;
import dev.berth.cluster.membership.MemberAction.RemovedAsLost;
import dev.berth.cluster.membership.MemberAction.SendWelcome;
import dev.berth.cluster.membership.MemberAction.StandBy;
import dev.berth.cluster.membership.MemberAction.SuspicionChanged;
import dev.berth.cluster.membership.Membership;
import dev.berth.cluster.membership.MembershipRules;
import dev.berth.cluster.membership.MembershipStatus;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.cluster.membership.NodeRegistration;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.NetSocket;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The controller's end of all control links: runs the {@link Membership}, and sends the
 * controller's messages. Thread-safe: the state is confined to the links' event loop, and the calls
 * of one thread take effect in their order.
 */
public final class ControlServer {
  private static final Logger LOG = LoggerFactory.getLogger(ControlServer.class);

  /** Maximum time from connection to WELCOME, in milliseconds; a slower node reconnects. */
  private static final long HELLO_MS = LinkTls.HANDSHAKE.toMillis();

  /** Receives the events of all nodes on the control event loop, in order. */
  public interface ControlServerListener {
    /**
     * Notifies the controller of an admitted node.
     *
     * @param fresh whether the controller knows none of the process's replicas, which the process
     *     then stops
     */
    void onNodeJoined(Member member, boolean fresh);

    /**
     * Applies the inventory of a node. Commands reach the node only from now on. If this method or
     * {@link #onEvent} throws, the node's link ends, so that the node sends its inventory again.
     */
    void onInventory(Member member, Buffer payload);

    /** Applies an event that is not in the last inventory. */
    void onEvent(Member member, Buffer payload);

    /**
     * Handles a bus message of a node.
     *
     * @param answer takes the reply, once; null when the node expects none
     */
    void onBusMessage(Member member, Buffer payload, @Nullable Consumer<Buffer> answer);

    /** Notifies the controller of a change of the members. */
    void onMembershipEvent(MembershipEvent news);
  }

  private final ControlLoops loops;
  private final MembershipRules rules;
  private final RegistrationStore registrations;
  private final Supplier<ClusterEpoch> authority;
  private final ControlServerListener listener;
  private final Membership membership;
  private final Map<Long, Peer> peers = new HashMap<>(); // by link
  private final Map<String, Peer> greeted = new HashMap<>(); // by name
  private @Nullable LinkSweep sweep;
  private final Map<String, String> refusedBy = new ConcurrentHashMap<>(); // reasons, by node name
  private volatile @Nullable String closed;
  private boolean stopped;
  private long lastLink;
  private final LogDeduplicator refusals =
      new LogDeduplicator(); // by node; reasons without a node by text

  /**
   * Creates a server.
   *
   * @param authority returns the current authority of this controller; thread-safe
   */
  public ControlServer(
      ControlLoops loops,
      MembershipRules rules,
      RegistrationStore registrations,
      Supplier<ClusterEpoch> authority,
      ControlServerListener listener) {
    this.loops = loops;
    this.rules = rules;
    this.registrations = registrations;
    this.authority = authority;
    this.listener = listener;
    this.membership = new Membership(rules, authority, registrations::includes, loops.now());
  }

  /** Starts the membership and its sweeps. */
  public void start() {
    loops.run(
        () -> {
          Duration interval = Duration.ofNanos(rules.intervalNanos());
          sweep = new LinkSweep(loops.links(), interval, loops.nanoClock(), this::sweep);
          act(membership.start(registrations.registeredNodes()));
        });
  }

  /** Accepts a connection of a server on the links' event loop. */
  public void accept(NetSocket socket) {
    String host = socket.remoteAddress().host();
    new SocketControlConnection(loops.links(), loops.tls(), host, Peer::new).attach(socket);
  }

  /** Returns a connector for the controller's own node. */
  public Connector local() {
    return (address, user) -> InProcessControlConnection.connect(loops.links(), user, Peer::new);
  }

  /** Ends all links; the nodes look for another controller. */
  public void stop() {
    loops.run(
        () -> {
          stopped = true;
          if (sweep != null) {
            sweep.stop();
          }
          endAll("the controller is stopping");
        });
  }

  private void endAll(String reason) {
    List.copyOf(peers.values()).forEach(each -> each.line.end(reason));
  }

  // --- messages of the controller ---

  /**
   * Ends all links because another controller started on this node. The nodes reconnect and send
   * their inventories.
   */
  public void callAgain() {
    loops.run(() -> endAll("the controller was restarted"));
  }

  /**
   * Sends a command. Dropped unless the node's inventory was applied: its next inventory shows that
   * the command was not executed.
   */
  public void command(String node, Buffer payload) {
    to(node, peer -> peer.command(payload));
  }

  public void bus(String node, Buffer payload) {
    to(node, peer -> peer.line.send(new Bus(0, payload)));
  }

  private void to(String node, Consumer<Peer> say) {
    loops.run(
        () -> {
          Peer peer = greeted.get(node);
          if (peer != null) {
            say.accept(peer);
          }
        });
  }

  /** Stops commanding permanently, as an earlier controller on this node did. */
  public void standBy(String reason) {
    loops.run(() -> act(membership.standsBy(reason)));
  }

  /** Cordons a node, or ends the cordon. */
  public void cordon(String node, boolean on) {
    loops.run(() -> act(membership.cordon(node, on)));
  }

  /** Reports that a leaving node has no replicas left. */
  public void onNodeDrained(String node) {
    loops.run(() -> act(membership.onNodeDrained(node)));
  }

  /** Reports the status to a consumer on the control event loop, after all earlier calls. */
  public void status(Consumer<MembershipStatus> told) {
    loops.run(
        () -> {
          MembershipStatus now = membership.status();
          loops.notifyListener(() -> told.accept(now));
        });
  }

  /**
   * Sends a message to all members. A link with a full buffer ends within the call and is removed
   * from the map, hence the copy.
   */
  private void everyone(Record message) {
    List.copyOf(greeted.values()).forEach(each -> each.line.send(message));
  }

  // --- actions of the membership ---

  private void act(List<MemberAction> actions) {
    closed = membership.closedReason();
    actions.forEach(this::act);
  }

  /** Returns the reasons of nodes that refuse this controller, by node name. Thread-safe. */
  public Map<String, String> refusedBy() {
    return Map.copyOf(refusedBy);
  }

  /** Returns the result of {@link Membership#onLinkClosed}. Thread-safe. */
  public @Nullable String closedReason() {
    return closed;
  }

  private void act(MemberAction action) {
    if (action instanceof RegisterNode it) {
      register(it);
    } else if (action instanceof CommitRemoval it) {
      commit(it.gone().who());
    } else if (action instanceof ProbePort it) {
      dial(it);
    } else if (action instanceof SendWelcome it) {
      peer(it.link(), peer -> peer.greet(it));
    } else if (action instanceof RefuseHello it) {
      refuse(it);
    } else if (action instanceof ConfirmLeave it) {
      peer(it.link(), peer -> peer.line.send(new NodeLeft()));
    } else if (action instanceof EndLink it) {
      peer(it.link(), peer -> peer.line.end(it.reason()));
    } else if (action instanceof MembershipEvent news) {
      spread(news);
    }
  }

  private void spread(MembershipEvent news) {
    if (news instanceof PublishMembers it) {
      everyone(it.members());
    } else if (news instanceof SuspicionChanged it) {
      LOG.warn("node {}: {}", it.member().node().name(), it.suspected() ? "silent" : "back");
    } else if (news instanceof RemovedAsLost it) {
      refusedBy.remove(it.who().name());
      LOG.warn("node {}: lost: {}", it.who().busName(), it.reason());
    } else if (news instanceof RemovedAsLeft it) {
      LOG.info("node {}: left", it.who().busName());
    } else if (news instanceof StandBy it) {
      LOG.error("controller on standby: sending no commands: {}", it.reason());
    }
    loops.notifyListener(() -> listener.onMembershipEvent(news));
  }

  private void register(RegisterNode it) {
    registrations
        .register(it.name(), it.process())
        .onComplete(
            (done, failed) ->
                loops.run(
                    () ->
                        act(
                            membership.onRegisterResult(
                                it.name(), registrations.registeredNodes()))));
  }

  private void commit(NodeRegistration who) {
    registrations
        .remove(who.name(), who.number())
        .onComplete(
            (done, failed) ->
                loops.run(() -> act(membership.onRemovalResult(who, failed == null))));
  }

  private void dial(ProbePort it) {
    loops
        .isRefused(it.host(), it.port())
        .onSuccess(refused -> act(membership.onProbeResult(it.who(), refused)));
  }

  private void refuse(RefuseHello it) {
    if (refusals.isNew(it.name(), it.reason())) {
      LOG.warn("node {}: refused: {}", it.name(), it.reason());
    }
    peer(it.link(), peer -> peer.line.send(new HandshakeRefused(it.reason())));
  }

  private void peer(long link, Consumer<Peer> act) {
    Peer peer = peers.get(link);
    if (peer != null) {
      act.accept(peer);
    }
  }

  // --- time ---

  private void sweep() {
    act(membership.sweep(loops.now()));
    ClusterEpoch now = authority.get();
    List.copyOf(greeted.values()).forEach(each -> each.line.send(new Beat(now, each.beats)));
  }

  /** The node on one link. */
  private final class Peer implements ControlConnection.ControlConnectionHandler {
    private final long link = ++lastLink;
    private final ControlConnection line;
    private boolean introduced;
    private @Nullable Member member; // null until its WELCOME
    private boolean commanded; // after its inventory was applied
    private long upTo; // last event in its inventory
    private long beats; // received

    Peer(ControlConnection line) {
      this.line = line;
      peers.put(link, this);
      loops.links().setTimer(HELLO_MS, due -> endIfNoMember());
    }

    private void endIfNoMember() {
      if (member == null) {
        line.end("not admitted within " + HELLO_MS + " ms (expected: HELLO, and WELCOME)");
      }
    }

    void greet(SendWelcome it) {
      member = it.member();
      greeted.put(it.member().node().name(), this);
      LOG.info("node {}: joined as {}", it.member().node().busName(), it.member().registration());
      line.send(it.welcome());
      line.send(membership.members());
      loops.notifyListener(() -> listener.onNodeJoined(it.member(), it.welcome().fresh()));
    }

    void command(Buffer payload) {
      if (commanded && membership.standsBy() == null) {
        line.send(new Command(authority.get(), payload));
      }
    }

    @Override
    public void onMessage(Record message) {
      if (stopped) {
        line.end("the controller is stopping");
        return;
      }
      if (message instanceof HandshakeHello hello && !introduced) {
        introduced = true;
        NodeInfo who = hello.node();
        act(membership.onHello(link, hello, line.refusal(rules.cluster(), who.name(), who.role())));
        return;
      }
      act(membership.onMessage(link));
      Member from = member;
      if (from == null) {
        return;
      }
      if (message instanceof HandshakeRefused it) {
        LOG.warn("node {}: refuses this controller: {}", from.node().name(), it.reason());
        refusedBy.put(from.node().name(), it.reason());
      } else if (message instanceof NodeBeat it) {
        beats++;
        refusedBy.remove(from.node().name());
        membership.onHeartbeat(link, Set.copyOf(it.unreachable()), it.pausedMillis());
      } else if (message instanceof Inventory it) {
        upTo = it.upTo();
        membership.onInventory(link);
        loops.notifyListener(() -> deliverOrEnd(() -> inventory(from, it.payload())));
      } else if (message instanceof Event it && it.number() > upTo) {
        loops.notifyListener(() -> deliverOrEnd(() -> listener.onEvent(from, it.payload())));
      } else if (message instanceof Bus it) {
        Consumer<Buffer> answer =
            payload -> loops.run(() -> line.send(new Answer(it.ask(), payload)));
        loops.notifyListener(
            () ->
                deliverOrEnd(
                    () ->
                        listener.onBusMessage(from, it.payload(), it.ask() == 0 ? null : answer)));
      } else if (message instanceof Leaving) {
        act(membership.onLeaving(link));
      }
    }

    /**
     * Applies an inventory. Commands issued before the controller knew it are queued before {@code
     * commanded} is set, and dropped.
     */
    private void inventory(Member from, Buffer payload) {
      loops.later(() -> commanded = true);
      listener.onInventory(from, payload);
      loops.later(() -> membership.onInventoryResult(link, true));
    }

    /**
     * Applies a message of the node. A lost message would be missing permanently, so the link ends
     * on a failure and the node sends its inventory again.
     */
    private void deliverOrEnd(Runnable told) {
      try {
        told.run();
      } catch (RuntimeException unfit) {
        loops.run(
            () -> {
              membership.onInventoryResult(link, false);
              line.end("message not applied: " + unfit);
            });
      }
    }

    @Override
    public void onEnded(String reason) {
      peers.remove(link);
      Member was = member;
      if (was != null && greeted.remove(was.node().name(), this)) {
        LOG.info("node {}: link closed: {}", was.node().busName(), reason);
      } else if (!introduced
          && !stopped
          && !reason.contains(Link.CLOSED) // a probe of the port
          && refusals.isNew(reason, reason)) {
        LOG.warn("control links: refused: {}", reason);
      }
      act(membership.onLinkClosed(link));
    }
  }
}
