package dev.berth.cluster.data;

import dev.berth.cluster.link.HeartbeatMonitor;
import dev.berth.cluster.link.Link;
import dev.berth.cluster.link.LinkTls;
import dev.berth.protocol.BusAddresses;
import dev.berth.stream.CountingLimit;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.NetSocket;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An inbound link that carries the messages of a loop of another process. The received messages are
 * handed to their target loops, one task per loop and read. The target loop decodes them and
 * subtracts their age since they were flushed. Confined to the loop that accepted the link.
 */
final class InboundLink implements Link.LinkOwner {
  /** Limit of bytes in flight: the link sends only small frames of its own, such as pings. */
  private static final long OWN_FRAMES_ONLY = 0;

  /**
   * Timeouts of silence after which the link ends. A router that waits for a peer detects its
   * silence on its own link to the peer. The peer's loop, after a pause, must find its links still
   * open.
   */
  private static final int SILENCE_TIMEOUTS = 10;

  private final EventLoopLinks home;
  private final NetSocket socket;
  final Link link;
  private HeartbeatMonitor silence;
  private final PeerClock clock = new PeerClock();
  private Map<Integer, List<TimestampedFrame>> arrived = new LinkedHashMap<>(); // in this read
  private @Nullable DataLinkHello hello;
  private long sent = TimestampedFrame.LONG_AGO; // send time of the next messages
  private boolean bye;

  InboundLink(EventLoopLinks home, NetSocket socket) {
    this.home = home;
    this.socket = socket;
    this.silence = home.silence(LinkTls.HANDSHAKE);
    this.link = new Link(home.loop, DataFrame.MAX_BYTES, new CountingLimit(OWN_FRAMES_ONLY), this);
  }

  @Override
  public void onFrames(List<Buffer> frames) {
    long now = home.now();
    home.beat(now);
    try {
      for (Buffer frame : frames) {
        if (link.isEnded()) {
          return;
        }
        take(frame.getByte(0), frame, now);
      }
    } finally {
      deliver();
    }
    if (hello != null) {
      silence.recordContact();
    }
  }

  private void take(byte kind, Buffer frame, long now) {
    if ((hello == null) != (kind == DataFrame.HELLO)) {
      link.end("a frame of kind " + kind + " (expected: HELLO first, and once)");
      return;
    }
    switch (kind) {
      case DataFrame.HELLO -> greet(DataLinkHello.read(DataFrame.text(frame)));
      case DataFrame.PONG -> clock.onPong(DataFrame.time(frame, 0), DataFrame.time(frame, 1), now);
      case DataFrame.SENT -> onSent(DataFrame.time(frame, 0), now);
      case DataFrame.ROUTER, DataFrame.REPLICA -> {
        home.bus.counters.framesReceived.increment();
        home.bus.counters.bytesReceived.add(frame.length());
        addFrame(kind, frame);
      }
      case DataFrame.BYE -> {
        bye = true;
        link.end("idle");
      }
      default -> link.end("a frame of kind " + kind + " (expected: 1 to 9)");
    }
  }

  private void greet(DataLinkHello said) {
    String refusal = home.bus.refusal(said, socket);
    if (refusal != null) {
      link.finish(
          out -> DataFrame.write(out, DataFrame.REFUSED, Buffer.buffer(refusal)),
          "%s is refused: %s".formatted(said.sender(), refusal));
      return;
    }
    hello = said;
    silence = home.silence(home.bus.config.timeout().multipliedBy(SILENCE_TIMEOUTS));
    home.bus.counters.links.increment();
    link.writeFirst(out -> DataFrame.write(out, DataFrame.WELCOME));
    ping();
    if (home.bus.leaving) {
      leave();
    }
  }

  /** Notifies the sender that this process is about to end. */
  void leave() {
    if (hello != null) {
      link.writeFirst(out -> DataFrame.write(out, DataFrame.LEAVING));
    }
  }

  /** Handles a pause of the loop: bytes not yet read may have been in transit for any time. */
  void paused() {
    sent = TimestampedFrame.LONG_AGO;
    ping();
  }

  private void ping() {
    if (hello != null) {
      link.writeFirst(out -> DataFrame.write(out, DataFrame.PING, home.now()));
    }
  }

  private void onSent(long peerNanos, long now) {
    sent = clock.sentNanos(peerNanos, home.pausedNanos);
    if (!clock.isPlausible(sent, now)) {
      link.end("a frame from the future: clocks of the loops differ");
    }
  }

  private void addFrame(byte role, Buffer frame) {
    // unique per role and loop
    int to = 2 * DataFrame.loop(frame) + (role == DataFrame.REPLICA ? 1 : 0);
    arrived.computeIfAbsent(to, first -> new ArrayList<>()).add(new TimestampedFrame(frame, sent));
  }

  private void deliver() {
    String own = home.bus.busNode;
    arrived.forEach(
        (to, messages) ->
            home.deliver(
                to % 2 == 0 ? BusAddresses.router(own, to / 2) : BusAddresses.replica(own, to / 2),
                messages));
    arrived = new LinkedHashMap<>();
  }

  void sweep(long now) {
    if (silence.sweep(now)) {
      link.end("silent");
    } else {
      ping();
    }
  }

  void endIfOf(String busNode, String reason) {
    if (hello != null && hello.sender().equals(busNode)) {
      link.end(reason);
    }
  }

  @Override
  public void onEnded(String reason) {
    home.onEnded(this, hello, host() + ": " + reason, bye);
  }

  String host() {
    return socket.remoteAddress().host();
  }
}
