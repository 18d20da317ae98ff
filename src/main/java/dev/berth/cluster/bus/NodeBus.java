package dev.berth.cluster.bus;

import dev.berth.cluster.bus.BusFrameCodec.BusFrame;
import dev.berth.cluster.data.DataFrame;
import dev.berth.cluster.data.LinkBus;
import dev.berth.cluster.data.LinkListener;
import dev.berth.cluster.data.LocalRegistration;
import dev.berth.cluster.data.PeerClock;
import dev.berth.cluster.link.HeartbeatMonitor;
import dev.berth.cluster.link.LinkSweep;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.cluster.membership.NodeInfo.BusEndpoint;
import dev.berth.config.ClusterConfig;
import dev.berth.metrics.MetricSeries;
import dev.berth.protocol.BusAddresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;
import dev.berth.stream.CountingLimit;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.internal.ContextInternal;
import java.net.ConnectException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends messages to the loops of other nodes over the clustered event bus of Vert.x, and over data
 * links to nodes without a bus port. Receives the messages of both kinds of nodes.
 *
 * <p><b>Order.</b> The event bus has one connection to a process, for all loops. Messages from one
 * loop to one loop keep their order while that connection lives. A new connection may lose or
 * overtake messages of the former one, without an event: waits end by recall, by the loss of the
 * node or at their deadline, and a gap in the numbers of a stream's frames ends the stream. A write
 * that fails ends the waits for its peer at once.
 *
 * <p><b>Pings.</b> Each process pings each peer over the bus, once per interval, from a loop
 * without user code. A ping contains whether its sender knows the receiver's clock. No message is
 * sent to a new peer before, because the peer could only refuse requests as too late: they wait for
 * that ping. A peer without pings for the timeout is suspected, and the waits for its replies end.
 *
 * <p><b>Bytes in flight.</b> Vert.x completes the future of a write when the socket has accepted
 * the bytes, or when the connection failed. Until then the bytes count against the limit of the
 * peer, as those of waiting messages do. All writes are on the home loop, which opens the
 * connections: a write of another thread may meet the close of its connection, and Vert.x 5.0.12
 * then never completes its future.
 *
 * <p>Thread-safe.
 */
public final class NodeBus implements BusSender {
  private static final Logger LOG = LoggerFactory.getLogger(NodeBus.class);
  private static final long KNOWS_CLOCK = 1; // bits of a ping's second number
  private static final long LEAVES = 2;

  /** Bytes beyond the limit for pings, which would else wait for the messages of a loaded peer. */
  private static final int PING_ROOM = 64 * 1024;

  /**
   * A process with an event bus.
   *
   * @param header start of all messages to it; null before the own registration
   */
  private record BusPeer(
      Member member,
      BusEndpoint at,
      CountingLimit inFlight,
      @Nullable Buffer header,
      PeerClock clock,
      PeerState state) {}

  /** Message that waits for the first ping of its peer. */
  private record UnsentFrame(String address, Buffer frame) {}

  /** The state that pings of a peer change. */
  private static final class PeerState {
    final HeartbeatMonitor silence; // confined to the home loop
    final List<UnsentFrame> unsent = new ArrayList<>(); // confined to the home loop
    boolean open; // whether its ping allows messages; confined to the home loop
    volatile boolean refuses; // whether it was suspected before that ping
    boolean leaving; // confined to the home loop
    boolean broken; // whether the waits ended since the last sweep; confined to the home loop

    PeerState(HeartbeatMonitor silence) {
      this.silence = silence;
    }
  }

  private final ClusterConfig config;
  private final String busNode;
  private final long secret;
  private final EventBus bus;
  private final ContextInternal home; // the connections belong to this context
  private final LinkBus links;
  private final LinkListener listener;
  private final LongSupplier nanoClock;
  private final Map<String, BusPeer> peers = new ConcurrentHashMap<>(); // by bus name
  private final List<MessageConsumer<Object>> consumers = new CopyOnWriteArrayList<>();
  private final LongAdder sent = new LongAdder();
  private final LongAdder sentBytes = new LongAdder();
  private final LongAdder received = new LongAdder();
  private final LongAdder receivedBytes = new LongAdder();
  private final LongAdder refused = new LongAdder();
  private final LongAdder dropped = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private volatile @Nullable LocalRegistration registration;
  private volatile boolean leaving;
  private volatile int serving; // number of loops
  private @Nullable LinkSweep sweeps; // confined to the home loop

  /**
   * Creates a bus.
   *
   * @param busNode own bus name
   * @param secret of this process, which the member list contains
   * @param bus event bus of this process, which has no other {@link NodeBus}
   * @param home loop of the pings, without user code
   * @param links deliver received messages, and carry those to nodes without a bus port
   * @param nanoClock monotonic nanoseconds
   */
  public NodeBus(
      ClusterConfig config,
      String busNode,
      long secret,
      EventBus bus,
      ContextInternal home,
      LinkBus links,
      LinkListener listener,
      LongSupplier nanoClock) {
    this.config = config;
    this.busNode = busNode;
    this.secret = secret;
    this.bus = bus;
    this.home = home;
    this.links = links;
    this.listener = listener;
    this.nanoClock = nanoClock;
    bus.registerCodec(new BusFrameCodec());
    home.exceptionHandler(NodeBus::onUncaught);
  }

  /**
   * Logs an exception of the home loop. Vert.x 5.0.12 throws for each failed write, after it has
   * failed the future: its promise reports every failure as a second one.
   */
  private static void onUncaught(Throwable thrown) {
    if (!(thrown instanceof IllegalStateException && thrown.getMessage().startsWith("Promise "))) {
      LOG.error("event bus between nodes: uncaught exception", thrown);
    }
  }

  /**
   * Starts to receive and to ping.
   *
   * @param loops serving loops, in the order of their index
   */
  public Future<Void> start(List<ContextInternal> loops) {
    serving = loops.size();
    List<Future<?>> started = new ArrayList<>();
    started.add(links.receiveFromBus());
    started.add(consume(home, BusAddresses.bus(busNode), this::onPing));
    for (int index = 0; index < loops.size(); index++) {
      int loop = index;
      started.add(
          consume(
              loops.get(index),
              BusAddresses.bus(busNode, index),
              (from, envelope) -> onMessage(loop, from, envelope)));
    }
    home.runOnContext(
        here -> sweeps = new LinkSweep(home, config.interval(), nanoClock, this::sweep));
    return Future.all(started).mapEmpty();
  }

  private Future<Void> consume(
      ContextInternal loop, String address, BiConsumer<BusPeer, BusEnvelope> onto) {
    Promise<Void> known = Promise.promise();
    loop.runOnContext(
        here -> {
          MessageConsumer<Object> made =
              bus.consumer(address, message -> receive(message.body(), onto));
          consumers.add(made);
          made.completion().onComplete(known);
        });
    return known.future();
  }

  /** Stops to receive and to ping. */
  public Future<Void> stop() {
    home.runOnContext(
        here -> {
          if (sweeps != null) {
            sweeps.stop();
          }
        });
    return Future.join(consumers.stream().map(MessageConsumer::unregister).toList()).mapEmpty();
  }

  // --- peers ---

  /** Sets the instance's registration as a node. */
  public void register(LocalRegistration now) {
    if (!now.equals(registration)) {
      registration = now;
      peers.replaceAll(
          (name, peer) -> {
            home.runOnContext(here -> replaced(peer));
            return peer(peer.member, peer.at, peer.inFlight);
          });
    }
  }

  /** Notifies each peer immediately that this process is about to end. */
  public void leave() {
    leaving = true;
    home.runOnContext(here -> peers.values().forEach(this::ping));
  }

  /** Adds a process that is now a node, unless it has no bus port. */
  public void add(Member member) {
    String name = member.node().busName();
    BusPeer before = peers.get(name);
    if (before == null || before.member.registration() != member.registration()) {
      BusEndpoint at = member.node().bus();
      if (at == null) {
        remove(name);
        return;
      }
      CountingLimit inFlight =
          before == null ? new CountingLimit(config.maxInflightBytesPerPeer()) : before.inFlight;
      BusPeer added = peer(member, at, inFlight);
      peers.put(name, added);
      if (before != null) {
        home.runOnContext(here -> replaced(before));
      }
      home.runOnContext(here -> ping(added)); // opens the connection
    }
  }

  /** Ends the waits for a peer after a registration: a new one of the peer, or of this process. */
  private void replaced(BusPeer before) {
    dropUnsent(before);
    if (before.header != null) {
      endWaits(before, "another registration");
    }
  }

  private void dropUnsent(BusPeer peer) {
    peer.state.unsent.forEach(each -> peer.inFlight.give(each.frame.length()));
    peer.state.unsent.clear();
  }

  private BusPeer peer(Member member, BusEndpoint at, CountingLimit inFlight) {
    LocalRegistration own = registration;
    return new BusPeer(
        member,
        at,
        inFlight,
        own == null ? null : BusEnvelope.header(busNode, own, member.registration(), at.secret()),
        new PeerClock(),
        new PeerState(
            new HeartbeatMonitor(config.interval().toNanos(), config.timeout().toNanos(), now())));
  }

  /** Removes a process that is no longer a node. Its messages are dropped from now on. */
  public void remove(String peer) {
    BusPeer removed = peers.remove(peer);
    if (removed != null) {
      home.runOnContext(here -> dropUnsent(removed));
    }
  }

  private long now() {
    return nanoClock.getAsLong();
  }

  // --- send ---

  @Override
  public SendResult send(String node, String address, BusMessage message) {
    BusPeer peer = peers.get(node);
    if (peer == null) {
      return links.send(node, address, message);
    }
    if (peer.header == null || peer.state.refuses) {
      refused.increment();
      return SendResult.NOT_NOW;
    }
    Buffer out = envelope(peer);
    try {
      Buffer body = DataFrame.write(out, address, message);
      if (body != null) {
        out.appendBuffer(body);
      }
    } catch (RuntimeException | StackOverflowError unfit) { // also thrown by user codecs
      return SendResult.unfit(unfit);
    }
    if (!write(peer, BusAddresses.bus(node, BusAddresses.loop(address)), out, 0)) {
      refused.increment();
      return SendResult.NOT_NOW;
    }
    sent.increment();
    sentBytes.add(out.length());
    return SendResult.SENT;
  }

  private Buffer envelope(BusPeer to) {
    return Buffer.buffer().appendBuffer(Objects.requireNonNull(to.header)).appendLong(now());
  }

  /**
   * Writes a frame, unless too many bytes are in flight. A frame of any size fits alone.
   *
   * @param room bytes beyond the limit, for a ping; a message has none, and waits for the peer
   */
  private boolean write(BusPeer to, String address, Buffer frame, int room) {
    int bytes = frame.length();
    if (!to.inFlight.tryTake(bytes, Math.max(to.inFlight.most + room, bytes))) {
      return false;
    }
    home.runOnContext(
        here -> {
          if (peers.get(to.member.node().busName()) != to) {
            to.inFlight.give(bytes);
          } else if (room == 0 && !to.state.open) {
            to.state.unsent.add(new UnsentFrame(address, frame));
          } else {
            writeNow(to, address, frame);
          }
        });
    return true;
  }

  private void writeNow(BusPeer to, String address, Buffer frame) {
    bus.<BusFrame>sender(address, BusFrameCodec.OPTIONS)
        .write(new BusFrame(frame))
        .onComplete(
            (accepted, lost) -> {
              to.inFlight.give(frame.length());
              if (lost != null) {
                onLost(to, lost);
              }
            });
  }

  // --- receive ---

  private void receive(@Nullable Object body, BiConsumer<BusPeer, BusEnvelope> onto) {
    BusEnvelope envelope = body instanceof BusFrame frame ? BusEnvelope.read(frame.bytes()) : null;
    BusPeer from = envelope == null ? null : peers.get(envelope.sender());
    if (envelope == null || from == null || !envelope.fits(registration, secret, from.member)) {
      dropped.increment();
      return;
    }
    onto.accept(from, envelope);
  }

  private void onMessage(int loop, BusPeer from, BusEnvelope envelope) {
    received.increment();
    receivedBytes.add(envelope.frame().length());
    links.receive(loop, envelope.frame(), from.clock, envelope.sentNanos());
  }

  /** Handles a ping or a pong. Called on the home loop. */
  private void onPing(BusPeer from, BusEnvelope envelope) {
    Buffer frame = envelope.frame();
    PeerState state = from.state;
    state.silence.recordContact();
    long peerNanos = DataFrame.time(frame, 0);
    long second = DataFrame.time(frame, 1);
    if (frame.getByte(0) == DataFrame.PING) {
      control(from, DataFrame.PONG, peerNanos, now());
      if ((second & KNOWS_CLOCK) != 0) {
        state.open = true; // after the pong
        state.refuses = false;
        state.unsent.forEach(each -> writeNow(from, each.address, each.frame));
        state.unsent.clear();
      }
      if ((second & LEAVES) != 0 && !state.leaving) {
        state.leaving = true;
        listener.leaving(envelope.sender());
      }
    } else {
      boolean known = knowsClock(from);
      synchronized (from.clock) {
        from.clock.onPong(peerNanos, second, now());
      }
      if (!known) {
        ping(from); // notifies the peer at once
      }
    }
  }

  private boolean knowsClock(BusPeer peer) {
    synchronized (peer.clock) {
      return peer.clock.isKnownSince(now() - config.timeout().toNanos());
    }
  }

  // --- pings ---

  private void ping(BusPeer peer) {
    control(
        peer, DataFrame.PING, now(), (knowsClock(peer) ? KNOWS_CLOCK : 0) + (leaving ? LEAVES : 0));
  }

  private void control(BusPeer to, byte kind, long... numbers) {
    if (to.header != null) {
      Buffer out = envelope(to);
      DataFrame.write(out, kind, numbers);
      write(to, BusAddresses.bus(to.member.node().busName()), out, PING_ROOM);
    }
  }

  private void sweep() {
    long now = now();
    peers.forEach(
        (name, peer) -> {
          if (peer.state.silence.sweep(now)) {
            suspect(peer, "silent");
          } else {
            peer.state.broken = false;
          }
          ping(peer);
        });
  }

  /** Handles a lost message. Other messages on its connection may be lost, too. */
  private void onLost(BusPeer to, Throwable cause) {
    failed.increment();
    if (peers.get(to.member.node().busName()) != to) {
      return; // no longer a node
    }
    if (cause instanceof ConnectException || cause instanceof SSLException) {
      to.state.open = false; // until its next ping
      suspect(to, "not connected: " + cause.getMessage());
    } else {
      endWaits(to, "closed");
    }
  }

  private void suspect(BusPeer peer, String reason) {
    peer.state.refuses = !peer.state.open;
    dropUnsent(peer);
    if (!config.busMessages()) {
      return; // requests to the peer use data links, which detect its silence
    }
    listener.suspected(peer.member.node().busName());
    endWaits(peer, reason);
  }

  /** Ends the waits for a peer, at most once per sweep, and once while the peer is silent. */
  private void endWaits(BusPeer peer, String reason) {
    if (!peer.state.broken && config.busMessages()) {
      peer.state.broken = true;
      String name = peer.member.node().busName();
      LOG.info("event bus to {}: {}", name, reason);
      IntStream.range(0, serving).forEach(loop -> listener.broken(name, loop));
    }
  }

  // --- metrics ---

  /** Reports the metrics of the bus. Thread-safe. */
  public void show(MetricSeries into) {
    into.counter("berth_bus_messages_sent", sent.sum());
    into.counter("berth_bus_sent_bytes", sentBytes.sum());
    into.counter("berth_bus_messages_received", received.sum());
    into.counter("berth_bus_received_bytes", receivedBytes.sum());
    into.counter("berth_bus_sends_refused", refused.sum());
    into.counter("berth_bus_messages_dropped", dropped.sum());
    into.counter("berth_bus_writes_failed", failed.sum());
    SortedMap<String, Long> bytes = new TreeMap<>(); // two processes may briefly share a name
    peers.forEach(
        (peer, known) -> bytes.merge(NodeInfo.nameOf(peer), known.inFlight.inUse(), Long::sum));
    bytes.forEach(
        (name, now) ->
            into.with("node", name)
                .gauge("berth_bus_inflight_bytes", now, config.maxInflightBytesPerPeer()));
  }
}
