package dev.berth.cluster.link;

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
 * One connection to another process, and the frames on it. Made before its socket is there: what is
 * written meanwhile waits, within the cap of its peer.
 *
 * <pre>
 *   WAITING --attach--> GREETING --open--> OPEN
 *   any --end, the peer closed, a malformed frame--> ENDED
 * </pre>
 *
 * Until it is open only {@link #writeFirst} passes, by which both sides say who they are. All
 * frames that are written in one tick are one write to the socket. Confined to its event loop.
 */
public final class Link {
  /** How long the other side may take to close after a last frame, in seconds. */
  private static final long LAST_FRAME_S = 2;

  /** Why a link has ended for no reason that is known here. */
  public static final String CLOSED = "closed by the other side";

  /** Instead of the bytes of a frame. */
  public static final int NOT_SENT = -1;

  private static final Logger LOG = LoggerFactory.getLogger(Link.class);

  /** Whoever a link is for. Called on its loop. */
  public interface Owner {
    /**
     * Something came: life, if nothing else.
     *
     * @param frames that are whole now, in order; of one read of the socket. They may be kept
     */
    void read(List<Buffer> frames);

    /** It has ended: once, and nothing comes after it. */
    void ended(String reason);

    /** What was written goes to the socket now, all of it at once. */
    default void flushing() {}

    /** Some of what was written is with the kernel: {@link Link#unwritten} is less. */
    default void written() {}
  }

  /** Frames that are not with the socket yet: what is short is copied together. */
  private static final class Unsent {
    private final List<ByteBuf> parts = new ArrayList<>(1);
    private int earlier; // bytes of all parts but the last
    private ByteBuf last;
    private Buffer out; // the bytes of the last

    Unsent(int expected) {
      last = Unpooled.buffer(expected);
      out = BufferInternal.buffer(last);
      parts.add(last);
    }

    int length() {
      return earlier + last.readableBytes();
    }

    /** As it is, behind what was appended. */
    void add(Buffer body) {
      earlier = length() + body.length();
      last = Unpooled.buffer(SHORT);
      out = BufferInternal.buffer(last);
      parts.add(((BufferInternal) body).getByteBuf());
      parts.add(last);
    }
  }

  /** What is expected behind a body: a few frames. */
  private static final int SHORT = 256;

  /** A tick is expected to be like the one before, up to so many bytes. */
  private static final int MOST_EXPECTED = 64 * 1024;

  private final ContextInternal loop;
  private final int maxFrameBytes;
  private final InFlight inFlight;
  private final Owner owner;
  private final Frames frames;
  private final Runnable flush = this::flush;

  private @Nullable NetSocketInternal socket; // null: WAITING
  private List<Buffer> received = new ArrayList<>();
  private @Nullable String malformed;
  private Unsent first = new Unsent(0);
  private Unsent rest = new Unsent(0);
  private int counted; // bytes of this link in inFlight
  private boolean flushing; // a task is on its way
  private boolean open;
  private boolean ended;
  private String failure = CLOSED;

  /**
   * @param loop its socket's too
   * @param maxFrameBytes of both directions, the length not counted
   */
  public Link(ContextInternal loop, int maxFrameBytes, InFlight inFlight, Owner owner) {
    this.loop = loop;
    this.maxFrameBytes = maxFrameBytes;
    this.inFlight = inFlight;
    this.owner = owner;
    this.frames = new Frames(maxFrameBytes);
  }

  /** WAITING to GREETING; a link that has ended meanwhile closes the socket. */
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
    own.exceptionHandler(failed -> failure = TlsFailure.said(failed));
    own.closeHandler(closed -> end(failure));
    flushSoon();
  }

  /** GREETING to OPEN. */
  public void open() {
    open = true;
    flushSoon();
  }

  // --- write ---

  /**
   * Sends a frame after those before it.
   *
   * @param payload appends it; what it throws is thrown, and nothing is sent
   * @return false when the peer's cap is reached, or the link has ended: it is not sent then
   * @throws IllegalArgumentException when it is longer than a frame may be
   */
  public boolean write(Consumer<Buffer> payload) {
    return writeWithBody(bodyless(payload)) != NOT_SENT;
  }

  /**
   * The same, of a frame that may end with a buffer that is not copied, and does not change.
   *
   * @param payload appends the rest, and returns that; null for none
   * @return bytes of the frame, or {@link #NOT_SENT}
   */
  public int writeWithBody(Function<Buffer, @Nullable Buffer> payload) {
    assert loop.inThread();
    return ended || inFlight.full() ? NOT_SENT : append(rest, payload, 0);
  }

  /**
   * Sends a small frame of the link's own, before those that wait, whatever the cap; a link whose
   * peer does not even read these is ended.
   */
  public void writeFirst(Consumer<Buffer> payload) {
    assert loop.inThread();
    if (ended) {
      return;
    }
    if (append(first, bodyless(payload), InFlight.OWN_ROOM) == NOT_SENT) {
      end("it does not read");
    }
  }

  /**
   * Sends a frame before those that wait, as the last one, after which the other side closes: who
   * closes with bytes unread resets, and may take from the other what he said last.
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

  private int append(Unsent to, Function<Buffer, @Nullable Buffer> payload, int room) {
    int start = to.last.writerIndex();
    boolean fits = false;
    try {
      to.out.appendInt(0);
      Buffer body = payload.apply(to.out);
      int length =
          to.last.writerIndex() - start - Frames.LENGTH + (body == null ? 0 : body.length());
      if (length > maxFrameBytes) {
        throw new IllegalArgumentException(
            "frame: %d bytes (expected: at most %d)".formatted(length, maxFrameBytes));
      }
      to.out.setInt(start, length);
      fits = inFlight.tryAdd(Frames.LENGTH + length, room);
      if (fits) {
        counted += Frames.LENGTH + length;
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
    first = new Unsent(0);
    if (open && rest.length() > 0) {
      all.addAll(rest.parts);
      rest = new Unsent(Math.min(rest.last.readableBytes(), MOST_EXPECTED));
      owner.flushing();
    }
    Objects.requireNonNull(socket)
        .writeMessage(Unpooled.wrappedBuffer(all.toArray(ByteBuf[]::new)))
        .onComplete((done, failed) -> written(waiting, failed));
  }

  private void written(int bytes, @Nullable Throwable failed) {
    if (ended) {
      return; // it was counted then
    }
    inFlight.done(bytes);
    counted -= bytes;
    if (failed != null) {
      end(Objects.toString(failed.getMessage(), failure));
    } else {
      owner.written();
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
      owner.read(whole);
    } catch (RuntimeException broken) {
      LOG.error("link: what came was not taken", broken);
      end("what came was not taken: " + broken);
    }
    if (malformed != null) {
      end(malformed);
    }
  }

  // --- end ---

  /** Ends it at once, whatever is still to be sent; no effect on one that has ended. */
  public void end(String reason) {
    assert loop.inThread();
    if (ended) {
      return;
    }
    ended = true;
    inFlight.done(counted);
    counted = 0;
    if (socket != null) {
      close(socket);
    }
    owner.ended(reason);
    first = new Unsent(0);
    rest = new Unsent(0);
  }

  /**
   * From the front of the pipeline: any later handler would wait for what the peer does not read,
   * and TLS for the answer to its last word (decision 0035).
   */
  private static void close(NetSocketInternal socket) {
    ChannelHandlerContext front = socket.channelHandlerContext().pipeline().firstContext();
    if (front != null) { // else it is closed
      front.close();
    }
  }

  public boolean isEnded() {
    return ended;
  }

  public boolean isOpen() {
    return open && !ended;
  }

  /** The frames that never left: that wait for the socket, or for it to be open. */
  public List<Buffer> unsent() {
    List<Buffer> whole = new ArrayList<>();
    ByteBuf all = Unpooled.wrappedBuffer(rest.parts.toArray(ByteBuf[]::new));
    new Frames(maxFrameBytes).take(all, whole);
    return whole;
  }

  /** Bytes of this link's frames that the kernel has not taken. */
  public int unwritten() {
    return counted;
  }
}
