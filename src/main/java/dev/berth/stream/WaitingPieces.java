package dev.berth.stream;

import io.vertx.core.buffer.Buffer;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Pieces of a stream that wait for a reader that lags, in order. Small ones are joined: credit
 * counts bytes, and a buffer for each single byte of a window would take a hundred times the
 * window. The first is never changed, as it may be being read. Not safe for several threads.
 */
public final class WaitingPieces {
  /** Smaller pieces are joined, in bytes. */
  private static final int SMALL_BYTES = 1 << 10;

  /** The most that is joined, in bytes: a frame's worth. */
  private static final int JOINED_BYTES = 64 << 10;

  private final ArrayDeque<Buffer> pieces = new ArrayDeque<>();
  private @Nullable Buffer joined; // the last, if it was made here

  /** Adds a piece, which is read only. */
  public void add(Buffer piece) {
    Buffer last = pieces.peekLast();
    if (last != null
        && last == joined
        && pieces.size() > 1
        && last.length() + piece.length() <= JOINED_BYTES) {
      last.appendBuffer(piece);
    } else if (last != null && piece.length() < SMALL_BYTES) {
      Buffer made = Buffer.buffer(SMALL_BYTES).appendBuffer(piece);
      joined = made;
      pieces.add(made);
    } else {
      pieces.add(piece);
    }
  }

  public boolean isEmpty() {
    return pieces.isEmpty();
  }

  /** The first, which stays; {@link java.util.NoSuchElementException} when there is none. */
  public Buffer first() {
    return pieces.element();
  }

  /** Takes the first; {@link java.util.NoSuchElementException} when there is none. */
  public Buffer remove() {
    return pieces.remove();
  }

  public void clear() {
    pieces.clear();
  }
}
