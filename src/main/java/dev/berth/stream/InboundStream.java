package dev.berth.stream;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The receiving half of a body that crosses the bus in frames: a request's at its replica, a
 * response's at its router. It holds at most its window, because the sender may send only credited
 * bytes, and credit is granted as the reader takes bytes. Starts paused.
 *
 * <p><b>Concurrency.</b> Confined to the owner's loop. Calls on other threads continue on that
 * loop.
 */
public final class InboundStream implements ReadStream<Buffer> {
  /** Owner of the body. */
  public interface InboundStreamOwner {
    /** Runs an action on the owner's loop, at once if the caller is on it. Thread-safe. */
    void run(Runnable action);

    /** Allows the sender {@code bytes} more. Called on the loop. */
    default void credit(int bytes) {}

    /** Handles an exception of the reader's handler. Called on the loop. */
    default void threw(RuntimeException thrown) {
      throw thrown;
    }
  }

  /** Result of a received frame. */
  public enum FrameArrival {
    TAKEN,
    DUPLICATE,
    LAST,
    /** An earlier frame is lost: the stream cannot continue. */
    GAP,
    /** More bytes than granted: the sender ignores its limit and would exhaust memory. */
    EXCESS
  }

  private final InboundStreamOwner owner;
  private final int windowBytes;
  private final @Nullable StreamWindow window; // of a response; it grants the credit
  private final long length; // bytes of the whole body; -1 when unknown
  private final InboundChunkQueue waiting = new InboundChunkQueue();
  private int expected; // sequence number of the next frame
  private long granted; // total of bytes allowed for a request's body
  private long came; // total of bytes received
  private int uncredited; // bytes taken by the reader but not yet credited
  private long demand; // chunks requested by the reader; Long.MAX_VALUE means flowing
  private Headers trailers = Headers.empty();
  private boolean ended; // the last frame was received
  private boolean over; // the end or the failure was delivered
  private boolean delivering;
  private boolean readerCredits;
  private @Nullable BerthException failure;
  private @Nullable Handler<Buffer> handler;
  private @Nullable Handler<Void> endHandler;
  private @Nullable Handler<Throwable> exceptionHandler;

  /**
   * @param windowBytes maximum of bytes in flight; credit is granted after the reader took half of
   *     it
   */
  public InboundStream(int windowBytes, InboundStreamOwner owner) {
    this(windowBytes, null, -1, owner);
  }

  /**
   * Creates the stream of a response.
   *
   * @param length bytes of the whole body; negative as in {@code CallResponse.follows}
   */
  public InboundStream(StreamWindow window, long length, InboundStreamOwner owner) {
    this(0, window, length, owner);
  }

  private InboundStream(
      int windowBytes, @Nullable StreamWindow window, long length, InboundStreamOwner owner) {
    this.windowBytes = windowBytes;
    this.window = window;
    this.length = length;
    this.owner = owner;
    this.granted = windowBytes;
  }

  /**
   * Creates a stream of a whole body, with one chunk, or none for an empty body.
   *
   * @param loop runs an action on the reader's loop, at once if the caller is on it
   */
  public static InboundStream whole(Buffer body, Executor loop) {
    InboundStream stream = new InboundStream(Integer.MAX_VALUE, loop::execute);
    stream.first(body, true);
    return stream;
  }

  /**
   * Adds the chunk that arrived in the message that announced the stream, before the first frame.
   *
   * @param last whether this is the whole body
   */
  public void first(Buffer piece, boolean last) {
    if (piece.length() > 0) {
      waiting.add(piece);
    }
    came += piece.length();
    ended = last;
  }

  /** Receives a frame; {@link #deliver} then passes it on as far as the reader requested. */
  public FrameArrival frame(int sequence, Buffer data, boolean last) {
    if (sequence != expected || ended) {
      return sequence - expected < 0 || ended ? FrameArrival.DUPLICATE : FrameArrival.GAP;
    }
    came += data.length();
    if (came > (window == null ? granted : window.limit())) {
      return FrameArrival.EXCESS;
    }
    expected++;
    if (data.length() > 0 && failure == null) {
      waiting.add(data);
    }
    ended = last;
    return ended ? FrameArrival.LAST : FrameArrival.TAKEN;
  }

  /** Ends the stream with a failure. No effect after the whole body was delivered. */
  public void fail(BerthException reason) {
    if (failure == null && !over) {
      failure = reason;
      waiting.clear(); // an incomplete body is not delivered to its end
      deliver();
    }
  }

  /** Returns the bytes of the whole body in memory; negative when unknown. */
  public long length() {
    return length;
  }

  /**
   * Returns the length that the head of the response may state; -1 when unknown. It may exceed the
   * memory of the instance.
   */
  public long declaredLength() {
    return length < -1 ? -2 - length : length;
  }

  /** Sets the trailers, before the last frame. */
  public void trailers(Headers fields) {
    trailers = fields;
  }

  /** Returns the trailers of the whole body; empty for none. */
  public Headers trailers() {
    return trailers;
  }

  /** Returns whether the chunk in the handler is the last one. */
  public boolean isAtLastPiece() {
    return ended && waiting.isEmpty() && failure == null;
  }

  /** Returns whether the last frame was received. */
  public boolean hasEnded() {
    return ended;
  }

  /** Returns whether the end or the failure was delivered to the reader. */
  public boolean isOver() {
    return over;
  }

  /** Returns whether the reader waits for bytes that have not arrived. */
  public boolean isStarving() {
    return demand > 0 && waiting.isEmpty() && !ended && failure == null;
  }

  /** Grants credit only when the reader reports bytes by {@link #onConsumed}, from now on. */
  public void creditByReader() {
    readerCredits = true;
  }

  public boolean isCreditedByReader() {
    return readerCredits;
  }

  /** Returns the window of a response; null for a request's body. */
  public @Nullable StreamWindow window() {
    return window;
  }

  /** Passes the waiting chunks to the reader as far as it requested. Runs user code. */
  public void deliver() {
    if (delivering) {
      return; // called by the reader from within its handler
    }
    delivering = true;
    try {
      while (demand > 0 && !waiting.isEmpty() && handler != null) {
        Buffer piece = waiting.remove();
        demand -= demand == Long.MAX_VALUE ? 0 : 1;
        if (!readerCredits) {
          onConsumed(piece.length());
        }
        handler.handle(piece);
      }
      finish();
    } catch (RuntimeException thrown) {
      owner.threw(thrown);
    } finally {
      delivering = false;
    }
  }

  private void finish() {
    if (over || !waiting.isEmpty()) {
      return;
    }
    if (failure != null) {
      if (exceptionHandler != null) {
        over = true;
        exceptionHandler.handle(failure);
      }
    } else if (ended && demand > 0) {
      over = true;
      if (endHandler != null) {
        endHandler.handle(null);
      }
    }
  }

  /** Records bytes that the reader has processed, and grants credit. */
  public void onConsumed(int bytes) {
    if (window != null) {
      window.onConsumed(bytes);
      return;
    }
    uncredited += bytes;
    if (uncredited >= windowBytes / 2 && !ended && failure == null) {
      int all = uncredited;
      uncredited = 0;
      granted += all;
      owner.credit(all);
    }
  }

  @Override
  public ReadStream<Buffer> handler(@Nullable Handler<Buffer> newHandler) {
    owner.run(
        () -> {
          handler = newHandler;
          deliver();
        });
    return this;
  }

  @Override
  public ReadStream<Buffer> pause() {
    owner.run(() -> demand = 0);
    return this;
  }

  @Override
  public ReadStream<Buffer> fetch(long amount) {
    owner.run(
        () -> {
          demand = demand + amount < 0 ? Long.MAX_VALUE : demand + amount;
          deliver();
        });
    return this;
  }

  @Override
  public ReadStream<Buffer> resume() {
    return fetch(Long.MAX_VALUE);
  }

  @Override
  public ReadStream<Buffer> endHandler(@Nullable Handler<Void> newHandler) {
    owner.run(() -> endHandler = newHandler);
    return this;
  }

  @Override
  public ReadStream<Buffer> exceptionHandler(@Nullable Handler<Throwable> newHandler) {
    owner.run(
        () -> {
          exceptionHandler = newHandler;
          deliver();
        });
    return this;
  }
}
