package dev.berth.cluster.link;

import dev.berth.stream.CountingLimit;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.buffer.BufferInternal;
import io.vertx.core.internal.net.NetSocketInternal;
import io.vertx.core.net.NetSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection to another process that carries frames. Created before its socket: earlier frames
 * wait, within the limit of their peer.
 *
 * <pre>
 *   WAITING --attach--> GREETING --open--> OPEN
 *   any --end, the peer closed, a malformed frame--> ENDED
 * </pre>
 *
 * Until the link is open only frames of {@link #writeFirst} are sent, with which both peers
 * identify themselves. All frames of one tick are flushed by one write to the socket. Confined to
 * its event loop.
 */
public final class Link {
  /** Time for the peer to close after a last frame, in seconds. */
  private static final long LAST_FRAME_S = 2;

  /** End reason of a link when no other reason is known. */
  public static final String CLOSED = "closed by the peer";

  /** Result for a frame that was not accepted, in place of its size in bytes. */
  public static final int NOT_SENT = -1;

  private static final Logger LOG = LoggerFactory.getLogger(Link.class);

  /** The owner of a link. Called on the link's loop. */
  public interface LinkOwner {
    /**
     * Handles one read of the socket, which is a sign of life even without a complete frame.
     *
     * @param frames complete frames of this read, in order; the owner may retain them
     */
    void onFrames(List<Buffer> frames);

    /** Notifies the owner of the end. Called once; no other call follows. */
    void onEnded(String reason);

    /** Notifies the owner that all written frames are about to be flushed. */
    default void onFlush() {}

    /**
     * Notifies the owner that the kernel accepted some bytes: {@link Link#unwritten} has decreased.
     */
    default void onWritten() {}
  }

  /** Frames that wait for the socket. Short parts are copied into one buffer. */
  private static final class UnsentFrames {
    private final List<ByteBuf> parts = new ArrayList<>(1);
    private int earlier; // bytes of all parts except the last
    private ByteBuf last;
    private Buffer out; // wraps the last part

    UnsentFrames(int expected) {
      last = Unpooled.buffer(expected);
      out = BufferInternal.buffer(last);
      parts.add(last);
    }

    int length() {
      return earlier + last.readableBytes();
    }

    /** Appends a body without copying it. */
    void add(Buffer body) {
      earlier = length() + body.length();
      last = Unpooled.buffer(SHORT);
      out = BufferInternal.buffer(last);
      parts.add(((BufferInternal) body).getByteBuf());
      parts.add(last);
    }
  }

  /** Expected bytes after a body, for a few frames. */
  private static final int SHORT = 256;

  /** Maximum initial capacity in bytes. A tick is expected to write as much as the previous one. */
  private static final int MAX_EXPECTED_BYTES = 64 * 1024;

  /** Bytes beyond the limit in flight for a link's own frames, which are small and few. */
  private static final int OWN_ROOM = 64 * 1024;

  private final ContextInternal loop;
  private final int maxFrameBytes;
  private final CountingLimit inFlight;
  private final LinkOwner owner;
  private final FrameDecoder frames;
  private final Runnable flush = this::flush;

  private @Nullable NetSocketInternal socket; // null while WAITING
  private List<Buffer> received = new ArrayList<>();
  private @Nullable String malformed;
  private UnsentFrames first = new UnsentFrames(0);
  private UnsentFrames rest = new UnsentFrames(0);
  private int counted; // this link's bytes in inFlight
  private boolean flushing; // a flush task is scheduled
  private boolean open;
  private boolean ended;
  private String failure = CLOSED;

  /**
   * Creates a link without a socket.
   *
   * @param loop event loop of the link and of its socket
   * @param maxFrameBytes limit for both directions, without the length
   * @param inFlight limits the bytes of frames to the peer over all links: written, but not yet
   *     accepted by the kernel
   */
  public Link(ContextInternal loop, int maxFrameBytes, CountingLimit inFlight, LinkOwner owner) {
    this.loop = loop;
    this.maxFrameBytes = maxFrameBytes;
    this.inFlight = inFlight;
    this.owner = owner;
    this.frames = new FrameDecoder(maxFrameBytes);
  }

  /** Moves the link from WAITING to GREETING. If the link has ended, the socket is closed. */
  public void attach(NetSocket connected) {
    assert loop.inThread();
    NetSocketInternal own = (NetSocketInternal) connected;
    if (ended) {
      close(own);
      return;
    }
    socket = own;
    own.messageHandler(this::received);
    own.readCompletionHandler(complete -> read());
    own.exceptionHandler(failed -> failure = TlsFailure.describe(failed));
    own.closeHandler(closed -> end(failure));
    flushSoon();
  }

  /** Moves the link from GREETING to OPEN. */
  public void open() {
    open = true;
    flushSoon();
  }

  // --- write ---

  /**
   * Sends a frame after all earlier ones.
   *
   * @param payload appends the payload; if it throws, the exception is rethrown and nothing is sent
   * @return false when the peer's limit is reached or the link has ended; then nothing is sent
   * @throws IllegalArgumentException when the frame exceeds the maximum size
   */
  public boolean write(Consumer<Buffer> payload) {
    return writeWithBody(bodyless(payload)) != NOT_SENT;
  }

  /**
   * Sends a frame that may end with a buffer, which is not copied and must not change.
   *
   * @param payload appends the rest, and returns that buffer; null for none
   * @return bytes of the frame, or {@link #NOT_SENT}
   */
  public int writeWithBody(Function<Buffer, @Nullable Buffer> payload) {
    assert loop.inThread();
    return ended || inFlight.inUse() >= inFlight.most ? NOT_SENT : append(rest, payload, 0);
  }

  /**
   * Sends a small frame of the link itself before all waiting frames, regardless of the limit. Ends
   * a link whose peer does not even read these frames.
   */
  public void writeFirst(Consumer<Buffer> payload) {
    assert loop.inThread();
    if (ended) {
      return;
    }
    if (append(first, bodyless(payload), OWN_ROOM) == NOT_SENT) {
      end("the peer does not read");
    }
  }

  /**
   * Sends a last frame before all waiting frames, after which the peer closes. This process does
   * not close first: a close with unread bytes resets the connection, and a reset may discard the
   * last frame at the peer.
   */
  public void finish(Consumer<Buffer> last, String reason) {
    writeFirst(last);
    failure = reason;
    loop.nettyEventLoop().schedule(() -> end(reason), LAST_FRAME_S, TimeUnit.SECONDS);
  }

  private static Function<Buffer, @Nullable Buffer> bodyless(Consumer<Buffer> payload) {
    return out -> {
      payload.accept(out);
      return null;
    };
  }

  /**
   * Counts a frame, unless it exceeds the limit. A frame of any size fits while at most {@link
   * #OWN_ROOM} bytes are in flight.
   *
   * @param room bytes beyond the limit
   */
  static boolean tryTake(CountingLimit inFlight, int bytes, int room) {
    return inFlight.tryTake(bytes, Math.max(inFlight.most + room, OWN_ROOM + bytes));
  }

  private int append(UnsentFrames to, Function<Buffer, @Nullable Buffer> payload, int room) {
    int start = to.last.writerIndex();
    boolean fits = false;
    try {
      to.out.appendInt(0);
      Buffer body = payload.apply(to.out);
      int length =
          to.last.writerIndex() - start - FrameDecoder.LENGTH + (body == null ? 0 : body.length());
      if (length > maxFrameBytes) {
        throw new IllegalArgumentException(
            "frame: %d bytes (expected: at most %d)".formatted(length, maxFrameBytes));
      }
      to.out.setInt(start, length);
      int bytes = FrameDecoder.LENGTH + length;
      fits = tryTake(inFlight, bytes, room);
      if (fits) {
        counted += bytes;
        if (body != null) {
          to.add(body);
        }
        flushSoon();
      }
      return fits ? length : NOT_SENT;
    } finally {
      if (!fits) {
        to.last.writerIndex(start);
      }
    }
  }

  private void flushSoon() {
    if (socket != null && !flushing) {
      flushing = true;
      loop.nettyEventLoop().execute(flush);
    }
  }

  private void flush() {
    flushing = false;
    int waiting = first.length() + (open ? rest.length() : 0);
    if (ended || waiting == 0) {
      return;
    }
    List<ByteBuf> all = first.parts;
    first = new UnsentFrames(0);
    if (open && rest.length() > 0) {
      all.addAll(rest.parts);
      rest = new UnsentFrames(Math.min(rest.last.readableBytes(), MAX_EXPECTED_BYTES));
      owner.onFlush();
    }
    Objects.requireNonNull(socket)
        .writeMessage(Unpooled.wrappedBuffer(all.toArray(ByteBuf[]::new)))
        .onComplete((done, failed) -> written(waiting, failed));
  }

  private void written(int bytes, @Nullable Throwable failed) {
    if (ended) {
      return; // the end has counted it
    }
    inFlight.give(bytes);
    counted -= bytes;
    if (failed != null) {
      end(Objects.toString(failed.getMessage(), failure));
    } else {
      owner.onWritten();
    }
  }

  // --- read ---

  private void received(Object bytes) {
    ByteBuf piece = (ByteBuf) bytes;
    if (!ended && malformed == null) {
      malformed = frames.take(piece, received);
    }
    piece.release();
  }

  private void read() {
    List<Buffer> whole = received;
    received = new ArrayList<>();
    if (ended) {
      return;
    }
    try {
      owner.onFrames(whole);
    } catch (RuntimeException broken) {
      LOG.error("link: message not handled", broken);
      end("message not handled: " + broken);
    }
    if (malformed != null) {
      end(malformed);
    }
  }

  // --- end ---

  /** Ends the link immediately and discards unsent frames. No effect on a link that has ended. */
  public void end(String reason) {
    assert loop.inThread();
    if (ended) {
      return;
    }
    ended = true;
    inFlight.give(counted);
    counted = 0;
    if (socket != null) {
      close(socket);
    }
    owner.onEnded(reason);
    first = new UnsentFrames(0);
    rest = new UnsentFrames(0);
  }

  /**
   * Closes the channel at the front of the pipeline. A later handler would wait until the peer
   * reads, and TLS for the peer's close_notify (decision 0035).
   */
  private static void close(NetSocketInternal socket) {
    ChannelHandlerContext front = socket.channelHandlerContext().pipeline().firstContext();
    if (front != null) { // else already closed
      front.close();
    }
  }

  public boolean isEnded() {
    return ended;
  }

  public boolean isOpen() {
    return open && !ended;
  }

  /**
   * Returns the frames that were never flushed, because the link was not open or the tick had not
   * ended.
   */
  public List<Buffer> unsent() {
    List<Buffer> whole = new ArrayList<>();
    ByteBuf all = Unpooled.wrappedBuffer(rest.parts.toArray(ByteBuf[]::new));
    new FrameDecoder(maxFrameBytes).take(all, whole);
    return whole;
  }

  /** Returns the bytes of this link that the kernel has not accepted. */
  public int unwritten() {
    return counted;
  }
}
