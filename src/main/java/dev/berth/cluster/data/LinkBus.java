package dev.berth.cluster.data;

import dev.berth.cluster.link.LinkServer;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.membership.Member;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.config.ClusterConfig;
import dev.berth.metrics.MetricSeries;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.SendResult;
import dev.berth.stream.CountingLimit;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Sends messages to the loops of other nodes over data links, and delivers received messages to the
 * mailboxes of this instance. Messages from one loop to one loop keep their order. Messages of
 * other threads are sent over the first loop's links. Thread-safe.
 */
public final class LinkBus implements BusSender {
  /** A peer, and its bytes in flight over all links. */
  record LinkPeer(Member member, CountingLimit inFlight) {}

  final ClusterConfig config;
  final String busNode; // own bus name
  final LinkTls tls;
  final NetClient dialer;
  final LocalMailboxes own;
  final LinkListener listener;
  final LongSupplier nanoClock;
  final LinkCounters counters = new LinkCounters();
  final Map<String, LinkPeer> peers = new ConcurrentHashMap<>(); // by bus name
  volatile @Nullable LocalRegistration registration;
  volatile boolean leaving;
  volatile Duration idle = OutboundLink.IDLE;
  volatile BusSender replies = this;
  volatile boolean receivesFromBus;
  private final List<EventLoopLinks> loops;
  private final LinkServer server;

  /**
   * Creates a bus.
   *
   * @param busNode own bus name
   * @param loops serving loops, in the order of their index
   * @param nanoClock monotonic nanoseconds
   */
  public LinkBus(
      ClusterConfig config,
      String busNode,
      List<ContextInternal> loops,
      LinkTls tls,
      LocalMailboxes own,
      LinkListener listener,
      LongSupplier nanoClock) {
    this.config = config;
    this.busNode = busNode;
    this.tls = tls;
    this.own = own;
    this.listener = listener;
    this.nanoClock = nanoClock;
    this.dialer = tls.dialer(loops.get(0).owner());
    this.server = new LinkServer(tls, "data links");
    this.loops =
        IntStream.range(0, loops.size())
            .mapToObj(index -> new EventLoopLinks(this, loops.get(index), index))
            .toList();
  }

  /**
   * Accepts links, on all of its loops.
   *
   * @param port 0 for any
   * @return the port
   */
  public Future<Integer> start(String host, int port) {
    return server.listen(
        loops.stream().map(links -> links.loop).toList(), host, port, this::accept);
  }

  private void accept(NetSocket socket) {
    Objects.requireNonNull(here(), "loop: null (expected: a loop of this instance)").accept(socket);
  }

  /** Ends all links, and neither opens nor accepts others. */
  public Future<Void> stop() {
    return onEach(EventLoopLinks::stop).eventually(server::close).eventually(dialer::close);
  }

  Future<Void> onEach(Consumer<EventLoopLinks> step) {
    return Future.join(loops.stream().<Future<?>>map(links -> links.run(step)).toList()).mapEmpty();
  }

  // --- peers ---

  /** Sets the instance's registration as a node. Links under another registration end. */
  public void register(LocalRegistration now) {
    if (!now.equals(registration)) {
      registration = now;
      onEach(links -> links.dropAll("registered again"));
    }
  }

  /** Notifies each sender immediately that this process is about to end. */
  public void leave() {
    leaving = true;
    onEach(EventLoopLinks::leave);
  }

  /**
   * Adds a process that is now a node: messages to the process and links from the process are
   * accepted.
   */
  public void add(Member member) {
    String peer = member.node().busName();
    LinkPeer before = peers.get(peer);
    if (before == null || before.member().registration() != member.registration()) {
      remove(peer);
      peers.put(peer, new LinkPeer(member, new CountingLimit(config.maxInflightBytesPerPeer())));
    }
  }

  /** Removes a process that is no longer a node. Its links end immediately, whatever they carry. */
  public void remove(String peer) {
    if (peers.remove(peer) != null) {
      onEach(links -> links.drop(peer));
    }
  }

  /** Returns the reason why a link is refused; null when it is accepted. */
  @Nullable String refusal(DataLinkHello hello, NetSocket from) {
    LinkPeer known = peers.get(hello.sender());
    String refusal = hello.refusal(busNode, registration, known == null ? null : known.member());
    return refusal != null || known == null ? refusal : refusal(known.member().node(), from);
  }

  @Nullable String refusal(NodeInfo node, NetSocket peer) {
    return tls.refusal(peer, config.name(), node.name(), node.role());
  }

  // --- send ---

  @Override
  public SendResult send(String node, String address, BusMessage message) {
    EventLoopLinks here = here();
    if (here != null) {
      return here.send(node, address, message);
    }
    LinkPeer known = peers.get(node);
    if (known == null || known.inFlight().inUse() >= known.inFlight().most) {
      counters.refusedSends.increment();
      return known == null ? SendResult.GONE : SendResult.NOT_NOW;
    }
    loops.get(0).run(first -> first.send(node, address, message));
    return SendResult.SENT;
  }

  private @Nullable EventLoopLinks here() {
    for (EventLoopLinks links : loops) {
      if (links.loop.inThread()) {
        return links;
      }
    }
    return null;
  }

  // --- the event bus ---

  /** Sets the sender of refusals of unreadable messages; by default data links carry them. */
  public void refuseOver(BusSender sender) {
    replies = sender;
  }

  /** Starts to detect pauses of each loop, also without links. Precedes {@link #receive}. */
  public Future<Void> receiveFromBus() {
    receivesFromBus = true;
    return onEach(EventLoopLinks::startSweeps);
  }

  /**
   * Receives a message that came over the event bus, as if a link had carried it. Called on the
   * loop.
   *
   * @param loop index of the loop
   * @param from clock of the sender, which this method locks
   * @param peerNanos time of sending on that clock
   */
  public void receive(int loop, Buffer frame, PeerClock from, long peerNanos) {
    loops.get(loop).receive(frame, from, peerNanos);
  }

  // --- metrics ---

  /** Reports the metrics of all links. Thread-safe. */
  public void show(MetricSeries into) {
    counters.show(into);
    if (tls.expirySeconds() > 0) {
      into.with("of", "nodes").gauge("berth_certificate_expiry_seconds", tls.expirySeconds());
    }
    SortedMap<String, Long> bytes = new TreeMap<>(); // two processes may briefly share a name
    peers.forEach(
        (peer, known) -> bytes.merge(NodeInfo.nameOf(peer), known.inFlight().inUse(), Long::sum));
    bytes.forEach(
        (name, now) ->
            into.with("node", name)
                .gauge("berth_link_inflight_bytes", now, config.maxInflightBytesPerPeer()));
  }
}
