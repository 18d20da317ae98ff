package dev.berth.cluster.data;

import dev.berth.cluster.link.HeartbeatMonitor;
import dev.berth.cluster.link.Link;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.membership.Member;
import dev.berth.protocol.BusMessage;
import dev.berth.stream.CountingLimit;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.NetSocket;
import java.time.Duration;
import java.util.List;

/**
 * The link of one loop for sending to one process. Messages wait until the peer has sent WELCOME
 * and its first ping. The peer's pings are its sign of life. Confined to the loop.
 */
final class OutboundLink implements Link.LinkOwner {
  /**
   * Time without messages after which a link is closed, even if calls still wait for that process.
   * Nothing is lost: replies arrive on the peer's own link, and the next message opens another
   * link.
   */
  static final Duration IDLE = Duration.ofMinutes(5);

  private final EventLoopLinks home;
  private final Member peer;
  final String busNode;
  final Link link;
  private final LocalRegistration own;
  private HeartbeatMonitor silence;
  private long usedNanos; // time of the last message
  private boolean marked; // a SENT frame precedes the unflushed messages
  private boolean welcome; // WELCOME received
  private boolean suspect;

  OutboundLink(EventLoopLinks home, Member peer, LocalRegistration own, CountingLimit inFlight) {
    this.home = home;
    this.peer = peer;
    this.busNode = peer.node().busName();
    this.own = own;
    this.link = new Link(home.loop, DataFrame.MAX_BYTES, inFlight, this);
    this.silence = home.silence(home.bus.config.timeout());
    this.usedNanos = home.now();
  }

  void dial() {
    home.bus
        .dialer
        .connect(peer.node().ports().data(), peer.node().host())
        .onSuccess(this::onConnected)
        .onFailure(
            failed -> {
              suspect = true;
              link.end("not connected: " + failed.getMessage());
            });
  }

  private void onConnected(NetSocket socket) {
    String refusal = home.bus.refusal(peer.node(), socket);
    link.attach(socket);
    silence = home.silence(LinkTls.HANDSHAKE);
    if (refusal != null) {
      link.end(refusal);
      return;
    }
    DataLinkHello hello = DataLinkHello.of(home.bus.busNode, own, home.index, peer);
    link.writeFirst(out -> DataFrame.write(out, DataFrame.HELLO, hello.fields().toBuffer()));
  }

  /**
   * Sends a message or queues it until the link is open. Returns its bytes, or {@link
   * Link#NOT_SENT}.
   */
  int send(String address, BusMessage message) {
    return isMarked()
        ? link.writeWithBody(out -> DataFrame.write(out, address, message))
        : Link.NOT_SENT;
  }

  /**
   * Writes the time before the next message, as a SENT frame: once per tick, or before each message
   * while the link is not open. Returns whether it was written.
   */
  private boolean isMarked() {
    if (!marked) {
      usedNanos = home.now();
      marked = link.write(out -> DataFrame.write(out, DataFrame.SENT, usedNanos));
    }
    boolean marks = marked;
    marked &= link.isOpen();
    return marks;
  }

  @Override
  public void onFlush() {
    marked = false;
  }

  @Override
  public void onFrames(List<Buffer> frames) {
    home.beat(home.now());
    for (Buffer frame : frames) {
      if (!link.isEnded()) {
        take(frame.getByte(0), frame);
      }
    }
    if (welcome) {
      silence.recordContact();
    }
  }

  private void take(byte kind, Buffer frame) {
    if (kind == DataFrame.REFUSED) {
      String why = DataFrame.text(frame).toString();
      suspect = DataLinkHello.isOfAnother(why); // that process has ended
      link.end("refused: " + why);
    } else if (kind == DataFrame.WELCOME && !welcome) {
      welcome = true;
      silence = home.silence(home.bus.config.timeout());
      home.onOpened(this);
    } else if (kind == DataFrame.PING) {
      long ping = DataFrame.time(frame, 0);
      link.writeFirst(out -> DataFrame.write(out, DataFrame.PONG, ping, home.now()));
      link.open(); // the first PONG precedes all messages, whose age depends on it
    } else if (kind == DataFrame.LEAVING) {
      home.bus.listener.leaving(busNode);
    } else {
      link.end("a frame of kind " + kind + " (expected: WELCOME or PING)");
    }
  }

  void sweep(long now) {
    boolean unused = now - usedNanos > home.bus.idle.toNanos() && link.unwritten() == 0;
    if (silence.sweep(now)) {
      suspect = true;
      link.end("silent");
    } else if (unused && link.isOpen()) {
      home.forget(this);
      link.finish(out -> DataFrame.write(out, DataFrame.BYE), "idle");
    }
  }

  @Override
  public void onEnded(String reason) {
    home.onEnded(this, reason, welcome, suspect);
  }
}
