package dev.berth.cluster.control;

import dev.berth.cluster.control.ControlForm.Urgent;
import dev.berth.cluster.link.Link;
import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.link.TlsFailure;
import dev.berth.config.ClusterConfig.ClusterRole;
import dev.berth.stream.CountingLimit;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.net.NetSocket;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A line over a {@link Link}. A message is sent in chunks. At most two chunks are written and not
 * yet flushed, so that at most 64 KiB precede a heartbeat.
 */
final class SocketControlConnection implements ControlConnection, Link.LinkOwner {
  static final int PIECE_BYTES = 32 * 1024;

  /** Maximum size of a message, and of all messages that wait for a slow reader, in bytes. */
  static final int MAX_BYTES = 16 * 1024 * 1024;

  private static final byte LAST = 0;
  private static final byte MORE = 1; // more chunks of the message follow
  private static final byte ALONE = 2; // sent between chunks of another message

  private final LinkTls tls;
  private final ControlConnectionHandler user;
  private final Link link;
  private final Queue<Buffer> waiting = new ArrayDeque<>(); // whole messages
  private int waitingBytes;
  private int sentBytes; // of the first message
  private Buffer joined = Buffer.buffer(); // received chunks of a message
  // The last heartbeats. Most of a node equal the one before, and their JSON costs more than the
  // rest.
  private @Nullable Record sentBeat;
  private Buffer sentBeatBytes = Buffer.buffer();
  private @Nullable Record receivedBeat;
  private Buffer receivedBeatBytes = Buffer.buffer();
  private @Nullable NetSocket socket;
  private String stranger; // peer, until its first message

  /**
   * Creates a line without a socket.
   *
   * @param peer address of the peer, for logs
   * @param user creates the user, which is not called before the next task of the loop
   */
  SocketControlConnection(
      ContextInternal loop,
      LinkTls tls,
      String peer,
      Function<ControlConnection, ControlConnectionHandler> user) {
    this.stranger = peer + ": ";
    this.tls = tls;
    this.user = user.apply(this);
    this.link = new Link(loop, PIECE_BYTES + 1, new CountingLimit(MAX_BYTES), this);
  }

  /** Attaches the socket and sends the messages that were queued before. */
  void attach(NetSocket socket) {
    this.socket = socket;
    link.attach(socket);
    link.open();
  }

  /** Ends a line whose socket was not connected. */
  void endUnconnected(Throwable failed) {
    if (ControlLoops.isRefusal(failed)) {
      user.onRefused();
    }
    end(TlsFailure.describe(failed));
  }

  @Override
  public @Nullable String refusal(String cluster, String node, ClusterRole role) {
    return tls.refusal(Objects.requireNonNull(socket), cluster, node, role);
  }

  // --- out ---

  @Override
  public void send(Record message) {
    if (message instanceof Urgent) {
      if (!message.equals(sentBeat)) {
        sentBeatBytes = ControlForm.encode(message);
        sentBeat = message;
      }
      link.writeFirst(out -> out.appendByte(ALONE).appendBuffer(sentBeatBytes));
      return;
    }
    Buffer bytes = ControlForm.encode(message);
    waiting.add(bytes);
    waitingBytes += bytes.length();
    if (waitingBytes > MAX_BYTES) {
      link.end("more than " + MAX_BYTES + " bytes unsent: the receiver does not read");
    }
    onWritten();
  }

  @Override
  public void onWritten() {
    while (!waiting.isEmpty() && link.unwritten() <= PIECE_BYTES && !link.isEnded()) {
      Buffer message = waiting.element();
      int to = Math.min(message.length(), sentBytes + PIECE_BYTES);
      byte kind = to == message.length() ? LAST : MORE;
      int from = sentBytes;
      link.write(out -> out.appendByte(kind).appendBuffer(message, from, to - from));
      waitingBytes -= to - from;
      sentBytes = kind == LAST ? 0 : to;
      if (kind == LAST) {
        waiting.remove();
      }
    }
  }

  // --- in ---

  @Override
  public void onFrames(List<Buffer> frames) {
    for (Buffer frame : frames) {
      if (link.isEnded()) {
        return;
      }
      byte kind = frame.getByte(0);
      Buffer piece = frame.slice(1, frame.length());
      if (kind == ALONE) {
        if (!piece.equals(receivedBeatBytes)) {
          receivedBeat = decode(piece);
          receivedBeatBytes = piece;
        }
        receiveMessage(receivedBeat);
        continue;
      }
      joined.appendBuffer(piece);
      if (joined.length() > MAX_BYTES) {
        link.end("a message of more than " + MAX_BYTES + " bytes");
      } else if (kind == LAST) {
        Buffer message = joined;
        joined = Buffer.buffer();
        receiveMessage(decode(message));
      }
    }
  }

  /** Reads a message; an unreadable one ends the line, and is null. */
  private @Nullable Record decode(Buffer bytes) {
    try {
      return ControlForm.decode(bytes);
    } catch (RuntimeException none) {
      link.end("unreadable message: " + none);
      return null;
    }
  }

  private void receiveMessage(@Nullable Record message) {
    if (message != null) {
      stranger = "";
      user.onMessage(message);
    }
  }

  @Override
  public void end(String reason) {
    link.end(reason);
  }

  @Override
  public void onEnded(String reason) {
    waiting.clear();
    boolean unheard = !stranger.isEmpty() && reason.equals(Link.CLOSED);
    user.onEnded(stranger + reason + (unheard ? " (expected: " + tls.expected() + ")" : ""));
  }
}
