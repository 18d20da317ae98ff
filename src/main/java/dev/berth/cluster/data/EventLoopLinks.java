package dev.berth.cluster.data;

import dev.berth.cluster.link.HeartbeatMonitor;
import dev.berth.cluster.link.Link;
import dev.berth.cluster.link.LinkSweep;
import dev.berth.cluster.link.LogDeduplicator;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.port.SendResult;
import dev.berth.protocol.wire.WireCodec;
import dev.berth.protocol.wire.WireFormatException;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.net.NetSocket;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The data links of one event loop, in both directions. Confined to that loop. */
final class EventLoopLinks {
  /** Delay before a failed process is dialled again; sends are refused meanwhile. */
  private static final Duration RETRY = Duration.ofMillis(200);

  private static final Logger LOG = LoggerFactory.getLogger(EventLoopLinks.class);
  private static final String LOST = "no longer a cluster node";

  /** The reason for a link's end, and the time from which the next link may be opened. */
  private record LinkFailure(String reason, long retryNanos) {}

  final LinkBus bus;
  final ContextInternal loop;
  final int index;
  private final Map<String, OutboundLink> outgoing = new HashMap<>(); // by bus name
  private final Map<String, LinkFailure> failed =
      new HashMap<>(); // by bus name, until a link is open
  private final Set<InboundLink> incoming = new LinkedHashSet<>();
  private @Nullable LinkSweep sweeps;
  private final LogDeduplicator warnings = new LogDeduplicator(); // by host
  private boolean stopped;
  private long beatNanos;

  /** The end of the last pause. Replies to earlier pings prove nothing about a message's age. */
  long pausedNanos;

  EventLoopLinks(LinkBus bus, ContextInternal loop, int index) {
    this.bus = bus;
    this.loop = loop;
    this.index = index;
  }

  /** Starts the sweeps, which end without links and without an event bus between nodes. */
  void startSweeps() {
    if (sweeps == null) {
      beatNanos = now();
      pausedNanos = beatNanos;
      sweeps = new LinkSweep(loop, bus.config.interval(), bus.nanoClock, this::sweep);
    }
  }

  /** Runs a step on the loop. Thread-safe. */
  Future<Void> run(Consumer<EventLoopLinks> step) {
    return Future.future(
        done ->
            loop.runOnContext(
                here -> {
                  step.accept(this);
                  done.complete();
                }));
  }

  long now() {
    return bus.nanoClock.getAsLong();
  }

  HeartbeatMonitor silence(Duration timeout) {
    return new HeartbeatMonitor(bus.config.interval().toNanos(), timeout.toNanos(), now());
  }

  // --- send ---

  SendResult send(String to, String address, BusMessage message) {
    OutboundLink link = outgoing.get(to);
    if (link == null) {
      link = dialIfAllowed(to);
    }
    int bytes;
    try {
      bytes = link == null ? Link.NOT_SENT : link.send(address, message);
    } catch (RuntimeException | StackOverflowError unfit) { // also thrown by user codecs
      return SendResult.unfit(unfit);
    }
    if (bytes == Link.NOT_SENT) {
      bus.counters.refusedSends.increment();
      return stopped || !bus.peers.containsKey(to) ? SendResult.GONE : SendResult.NOT_NOW;
    }
    bus.counters.framesSent.increment();
    bus.counters.bytesSent.add(bytes);
    return SendResult.SENT;
  }

  private @Nullable OutboundLink dialIfAllowed(String to) {
    LinkBus.LinkPeer known = bus.peers.get(to);
    LocalRegistration own = bus.registration;
    LinkFailure before = failed.get(to);
    boolean early = before != null && now() - before.retryNanos() < 0;
    if (known == null || own == null || stopped || early) {
      return null;
    }
    OutboundLink link = new OutboundLink(this, known.member(), own, known.inFlight());
    outgoing.put(to, link);
    startSweeps();
    link.dial();
    return link;
  }

  void onOpened(OutboundLink link) {
    failed.remove(link.busNode);
    bus.counters.links.increment();
    bus.counters.opened.increment();
  }

  /** Removes an idle link, which ends with BYE; the next message opens another. */
  void forget(OutboundLink link) {
    outgoing.remove(link.busNode);
  }

  void onEnded(OutboundLink link, String reason, boolean carried, boolean suspect) {
    String to = link.busNode;
    if (carried) {
      bus.counters.links.decrement();
    }
    if (!outgoing.remove(to, link)) {
      return; // it ended with BYE
    }
    bus.counters.failed.increment();
    LinkFailure before = failed.put(to, new LinkFailure(reason, now() + RETRY.toNanos()));
    if (before == null || !before.reason().equals(reason)) {
      LOG.info("data link to {} from loop {}: closed: {}", to, index, reason);
    }
    if (suspect) {
      bus.listener.suspected(to);
    }
    link.link.unsent().forEach(frame -> refuse(frame, Refusal.TOO_LATE)); // before broken()
    if (carried) {
      bus.listener.broken(to, index);
    } else if (suspect) { // replies to it would be lost
      List.copyOf(incoming).forEach(each -> each.endIfOf(to, "its sender is unreachable"));
    }
  }

  /**
   * Handles the unexpected end of a link from a process: its messages, including replies, may be
   * lost. Messages that still wait for a link to the process are refused, because they were never
   * sent.
   */
  void cutOff(String from) {
    OutboundLink link = outgoing.get(from);
    if (link != null && !link.link.isOpen()) {
      link.link.end("reset");
    }
    bus.listener.broken(from, index);
  }

  // --- receive ---

  void accept(NetSocket socket) {
    InboundLink link = new InboundLink(this, socket);
    incoming.add(link);
    startSweeps();
    link.link.attach(socket);
    link.link.open();
  }

  void onEnded(InboundLink link, @Nullable DataLinkHello from, String reason, boolean expected) {
    incoming.remove(link);
    if (from == null) {
      warn(link.host(), "data link from {}", reason);
      return;
    }
    bus.counters.links.decrement();
    if (!expected) {
      LOG.info("data link from {}, loop {}: {}", from.sender(), from.loop(), reason);
      bus.onEach(links -> links.cutOff(from.sender()));
    }
  }

  private void warn(String whom, String of, String reason) {
    if (warnings.isNew(whom, reason)) {
      LOG.warn(of, reason);
    }
  }

  /**
   * Receives a message that a process sent over the event bus to this loop. Its age is unknown
   * without a recent pong: there is no link that would have ended instead.
   */
  void receive(Buffer frame, PeerClock from, long peerNanos) {
    long now = now();
    beat(now);
    long oldest = now - bus.config.timeout().toNanos();
    long sent;
    synchronized (from) {
      sent = from.sentNanos(peerNanos, pausedNanos - oldest > 0 ? pausedNanos : oldest);
      if (!from.isPlausible(sent, now)) {
        from.reset();
        sent = TimestampedFrame.LONG_AGO;
      }
    }
    deliver(DataFrame.address(frame, bus.busNode), List.of(new TimestampedFrame(frame, sent)));
  }

  /** Hands received messages to a loop of this instance, which decodes them. */
  void deliver(String address, List<TimestampedFrame> messages) {
    bus.own.deliver(address, receiver -> messages.forEach(message -> read(message, receiver)));
  }

  private void read(TimestampedFrame arrived, Consumer<BusMessage> receiver) {
    BusMessage message;
    try {
      message = arrived.read(now());
    } catch (WireFormatException none) {
      run(here -> unread(arrived.frame(), none.toString()));
      return;
    }
    receiver.accept(message);
  }

  /** Refuses an unreadable message, so that its sender does not wait for a timeout. */
  private void unread(Buffer frame, String why) {
    warn("", "message of another node not readable: {}", why);
    refuse(frame, Refusal.UNREADABLE);
  }

  private void refuse(Buffer frame, Refusal why) {
    WireCodec.RefusalReply refused = DataFrame.toRefusalReply(frame, why);
    if (refused == null) {
      return;
    }
    String to = refused.to().busAddress();
    if (bus.busNode.equals(refused.to().node())) { // the message was never sent
      bus.own.deliver(to, receiver -> receiver.accept(refused.answer()));
    } else {
      bus.replies.send(refused.to().node(), to, refused.answer());
    }
  }

  // --- time ---

  /**
   * Records activity of the loop. After a pause longer than the timeout, unread bytes may be of any
   * age.
   */
  void beat(long now) {
    boolean paused = now - beatNanos > bus.config.timeout().toNanos();
    beatNanos = now;
    if (paused) {
      pausedNanos = now;
      List.copyOf(incoming).forEach(InboundLink::paused);
    }
  }

  private void sweep() {
    long now = now();
    beat(now);
    List.copyOf(outgoing.values()).forEach(link -> link.sweep(now));
    List.copyOf(incoming).forEach(link -> link.sweep(now));
    if (outgoing.isEmpty() && incoming.isEmpty() && !bus.receivesFromBus) {
      stopSweeps();
    }
  }

  private void stopSweeps() {
    if (sweeps != null) {
      sweeps.stop();
      sweeps = null;
    }
  }

  // --- end ---

  /** Ends all links with a process that is no longer a node. */
  void drop(String busNode) {
    OutboundLink link = outgoing.get(busNode);
    if (link != null) {
      link.link.end(LOST);
    }
    failed.remove(busNode);
    List.copyOf(incoming).forEach(from -> from.endIfOf(busNode, LOST));
  }

  void leave() {
    incoming.forEach(InboundLink::leave);
  }

  void dropAll(String reason) {
    List.copyOf(outgoing.values()).forEach(link -> link.link.end(reason));
    List.copyOf(incoming).forEach(link -> link.link.end(reason));
    failed.clear();
  }

  void stop() {
    stopped = true;
    dropAll("stopped");
    stopSweeps();
  }
}
