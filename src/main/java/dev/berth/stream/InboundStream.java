package dev.berth.stream;

import dev.berth.api.BerthException;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The receiving half of a body that crosses the bus in frames, a request's at its replica and a
 * response's at its router. Holds at most its window: the sender may send what was credited, and
 * credit is given when the reader took the bytes. Starts paused. State is confined to the owner's
 * loop; calls from other threads hop there.
 */
public final class InboundStream implements ReadStream<Buffer> {
  /** Whose body it is. */
  public interface Owner {
    /** Runs an action on the owner's loop: at once when it is there already. Any thread. */
    void run(Runnable action);

    /** So many more bytes may be sent. On the loop. */
    default void credit(int bytes) {}

    /** A handler of the reader threw. On the loop. */
    default void threw(RuntimeException thrown) {
      throw thrown;
    }
  }

  /** What a frame meant. */
  public enum Arrival {
    TAKEN,
    DUPLICATE,
    LAST,
    /** A frame before this one is lost: the stream cannot go on. */
    GAP,
    /** More than was granted: whoever sends it keeps to nothing, and would fill the memory. */
    EXCESS
  }

  private final Owner owner;
  private final int windowBytes;
  private final @Nullable StreamWindow window; // of a response; it gives the credit
  private final long length; // bytes of the whole body; -1 when that is not known
  private final WaitingPieces waiting = new WaitingPieces();
  private int expected; // the sequence of the next frame
  private long granted; // bytes of a request's body that may come
  private long came; // bytes
  private int uncredited; // bytes taken by the reader and not yet credited
  private long demand; // pieces the reader wants; Long.MAX_VALUE flows
  private boolean ended; // the last frame came
  private boolean over; // the end or the failure was delivered
  private boolean delivering;
  private boolean readerCredits;
  private @Nullable BerthException failure;
  private @Nullable Handler<Buffer> handler;
  private @Nullable Handler<Void> endHandler;
  private @Nullable Handler<Throwable> exceptionHandler;

  /**
   * @param windowBytes what may be under way; credit is given when half of it was taken
   */
  public InboundStream(int windowBytes, Owner owner) {
    this(windowBytes, null, -1, owner);
  }

  /**
   * A response's.
   *
   * @param length bytes of the whole body; -1 when that is not known
   */
  public InboundStream(StreamWindow window, long length, Owner owner) {
    this(0, window, length, owner);
  }

  private InboundStream(int windowBytes, @Nullable StreamWindow window, long length, Owner owner) {
    this.windowBytes = windowBytes;
    this.window = window;
    this.length = length;
    this.owner = owner;
    this.granted = windowBytes;
  }

  /**
   * A body that came whole, as a stream of one piece, or of none when it is empty.
   *
   * @param loop runs an action on the reader's loop: at once when it is there already
   */
  public static InboundStream whole(Buffer body, Executor loop) {
    InboundStream stream = new InboundStream(Integer.MAX_VALUE, loop::execute);
    stream.first(body, true);
    return stream;
  }

  /**
   * What came before the first frame, with the message that announced the stream.
   *
   * @param last whether it is all there is
   */
  public void first(Buffer piece, boolean last) {
    if (piece.length() > 0) {
      waiting.add(piece);
    }
    came += piece.length();
    ended = last;
  }

  /** Takes in a frame; {@link #deliver} then gives the reader what it wants of it. */
  public Arrival frame(int sequence, Buffer data, boolean last) {
    if (sequence != expected || ended) {
      return sequence - expected < 0 || ended ? Arrival.DUPLICATE : Arrival.GAP;
    }
    came += data.length();
    if (came > (window == null ? granted : window.limit())) {
      return Arrival.EXCESS;
    }
    expected++;
    if (data.length() > 0 && failure == null) {
      waiting.add(data);
    }
    ended = last;
    return ended ? Arrival.LAST : Arrival.TAKEN;
  }

  /** Ends the stream with a failure; nothing when all of it has been delivered. */
  public void fail(BerthException reason) {
    if (failure == null && !over) {
      failure = reason;
      waiting.clear(); // a cut body is not worth finishing
      deliver();
    }
  }

  /** Bytes of the whole body; -1 when that is not known. */
  public long length() {
    return length;
  }

  /** Whether the piece that is being handled is the last one. */
  public boolean isAtLastPiece() {
    return ended && waiting.isEmpty() && failure == null;
  }

  /** Whether the last frame has come. */
  public boolean hasEnded() {
    return ended;
  }

  /** Whether its reader was told of the end, or of the failure. */
  public boolean isOver() {
    return over;
  }

  /** Whether the reader waits for bytes that have not come. */
  public boolean isStarving() {
    return demand > 0 && waiting.isEmpty() && !ended && failure == null;
  }

  /** From now on what the reader takes is credited when it says so, with {@link #taken}. */
  public void creditByReader() {
    readerCredits = true;
  }

  public boolean isCreditedByReader() {
    return readerCredits;
  }

  /** What a response may have under way; null for a request's body. */
  public @Nullable StreamWindow window() {
    return window;
  }

  /** Gives the reader what it wants of what is here. User code runs from here. */
  public void deliver() {
    if (delivering) {
      return; // the reader resumed us from within
    }
    delivering = true;
    try {
      while (demand > 0 && !waiting.isEmpty() && handler != null) {
        Buffer piece = waiting.remove();
        demand -= demand == Long.MAX_VALUE ? 0 : 1;
        if (!readerCredits) {
          taken(piece.length());
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

  /** The reader is done with so many bytes. */
  public void taken(int bytes) {
    if (window != null) {
      window.took(bytes);
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
