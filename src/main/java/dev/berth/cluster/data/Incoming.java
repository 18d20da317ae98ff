package dev.berth.cluster.data;

import dev.berth.cluster.link.InFlight;
import dev.berth.cluster.link.Link;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.link.Silence;
import dev.berth.protocol.Addresses;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.NetSocket;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A link by which a loop of another process sends. What comes is given to the loops that it is for,
 * all of one read in one task each, and read there, aged by the time since it was flushed. Confined
 * to the loop that took it.
 */
final class Incoming implements Link.Owner {
  /** What it may have under way: pings, and that is all. */
  private static final long OWN_FRAMES_ONLY = 0;

  /**
   * Time-outs of silence that end it. Who waits for a peer hears that by his own link to it; a loop
   * that stood still is to find those that it made.
   */
  private static final int PATIENCE = 10;

  private final LoopLinks home;
  private final NetSocket socket;
  final Link link;
  private Silence silence;
  private final ClockOffset clock = new ClockOffset();
  private Map<Integer, List<Arrived>> arrived = new LinkedHashMap<>(); // of this read
  private @Nullable Hello hello;
  private long answeredPing; // when the latest ping left that was answered
  private long sent = Arrived.LONG_AGO; // what comes next
  private boolean bye;

  Incoming(LoopLinks home, NetSocket socket) {
    this.home = home;
    this.socket = socket;
    this.silence = home.silence(LinkTls.HANDSHAKE);
    this.link = new Link(home.loop, DataFrame.MAX_BYTES, new InFlight(OWN_FRAMES_ONLY), this);
  }

  @Override
  public void read(List<Buffer> frames) {
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
      silence.heard();
    }
  }

  private void take(byte kind, Buffer frame, long now) {
    if ((hello == null) != (kind == DataFrame.HELLO)) {
      link.end("a frame of kind " + kind + " (expected: HELLO first, and once)");
      return;
    }
    switch (kind) {
      case DataFrame.HELLO -> greet(Hello.read(DataFrame.text(frame)));
      case DataFrame.PONG -> {
        answeredPing = DataFrame.time(frame, 0);
        clock.answered(answeredPing, DataFrame.time(frame, 1), now);
      }
      case DataFrame.SENT -> sent(DataFrame.time(frame, 0), now);
      case DataFrame.ROUTER, DataFrame.REPLICA -> {
        home.bus.counters.framesReceived.increment();
        home.bus.counters.bytesReceived.add(frame.length());
        arrived(kind, frame);
      }
      case DataFrame.BYE -> {
        bye = true;
        link.end("idle");
      }
      default -> link.end("a frame of kind " + kind + " (expected: 1 to 9)");
    }
  }

  private void greet(Hello said) {
    String refusal = home.bus.refusal(said, socket);
    if (refusal != null) {
      link.finish(
          out -> DataFrame.write(out, DataFrame.REFUSED, Buffer.buffer(refusal)),
          "%s is refused: %s".formatted(said.sender(), refusal));
      return;
    }
    hello = said;
    silence = home.silence(home.bus.config.timeout().multipliedBy(PATIENCE));
    home.bus.counters.links.increment();
    link.writeFirst(out -> DataFrame.write(out, DataFrame.WELCOME));
    ping();
    if (home.bus.leaving) {
      leave();
    }
  }

  /** Tells who sends by it. */
  void leave() {
    if (hello != null) {
      link.writeFirst(out -> DataFrame.write(out, DataFrame.LEAVING));
    }
  }

  /** The loop stood still: what is still to be read may have been under way for any time. */
  void paused() {
    sent = Arrived.LONG_AGO;
    ping();
  }

  private void ping() {
    if (hello != null) {
      link.writeFirst(out -> DataFrame.write(out, DataFrame.PING, home.now()));
    }
  }

  private void sent(long peerNanos, long now) {
    if (!clock.isKnown() || answeredPing - home.pausedNanos() < 0) {
      sent = Arrived.LONG_AGO;
      return;
    }
    sent = clock.sentNanos(peerNanos);
    if (!clock.isPlausible(sent, now)) {
      link.end("a frame of later than now: a clock has stood still");
    }
  }

  private void arrived(byte role, Buffer frame) {
    int to = 2 * DataFrame.loop(frame) + (role == DataFrame.REPLICA ? 1 : 0); // a small number
    arrived.computeIfAbsent(to, first -> new ArrayList<>()).add(new Arrived(frame, sent));
  }

  private void deliver() {
    String own = home.bus.busNode;
    arrived.forEach(
        (to, messages) ->
            home.deliver(
                to % 2 == 0 ? Addresses.router(own, to / 2) : Addresses.replica(own, to / 2),
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
  public void ended(String reason) {
    home.ended(this, hello, host() + ": " + reason, bye);
  }

  String host() {
    return socket.remoteAddress().host();
  }
}
