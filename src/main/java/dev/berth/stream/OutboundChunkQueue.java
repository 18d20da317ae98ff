package dev.berth.stream;

import io.vertx.core.buffer.Buffer;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * FIFO queue of the unsent chunks of a stream. They are sent as bytes: a frame holds a part of a
 * chunk or several chunks, as credit allows. Not thread-safe.
 */
public final class OutboundChunkQueue {
  /** Maximum size of a chunk that is joined to another. */
  public static final int MAX_JOINED_BYTES = 4096;

  private final ArrayDeque<Buffer> pieces = new ArrayDeque<>();
  private @Nullable Buffer joined; // the last chunk, while it may be appended to
  private int sentOfFirst; // bytes of the first chunk that were sent
  private long bytes; // unsent

  /** Adds a chunk, which may be empty. The chunk is only read. */
  public void add(Buffer piece) {
    pieces.add(piece);
    bytes += piece.length();
  }

  /**
   * Adds a chunk of at most {@link #MAX_JOINED_BYTES} as bytes of the last chunk, which is copied
   * for it unless it is larger than that.
   *
   * @param expected estimate of the bytes of the joined chunks
   */
  public void join(Buffer piece, int expected) {
    Buffer last = pieces.peekLast();
    if (last != null && last != joined && last.length() <= MAX_JOINED_BYTES) {
      pieces.removeLast();
      last = Buffer.buffer(Math.max(expected, 256)).appendBuffer(last);
      pieces.add(last);
      joined = last;
    }
    if (last != null && last == joined) {
      last.appendBuffer(piece);
      bytes += piece.length();
    } else {
      add(piece);
    }
  }

  /** Returns the number of unsent bytes. */
  public long bytes() {
    return bytes;
  }

  /** Returns the number of chunks with unsent bytes, and of empty ones. */
  public int size() {
    return pieces.size();
  }

  /** Returns the unsent bytes of the first chunks that have at least {@code least}, or of all. */
  public long joinedBytes(int least) {
    long joined = -sentOfFirst;
    for (Buffer piece : pieces) {
      joined += piece.length();
      if (joined >= least) {
        break;
      }
    }
    return joined;
  }

  /**
   * Returns the next {@code size} bytes, copied only if they span several chunks. The queue must
   * hold at least one byte.
   */
  public Buffer peek(int size) {
    joined = null; // the frame shares its bytes, and may be read on another thread
    Buffer first = pieces.element();
    if (first.length() - sentOfFirst >= size) {
      return size == first.length() ? first : first.slice(sentOfFirst, sentOfFirst + size);
    }
    Buffer frame = Buffer.buffer(size);
    int from = sentOfFirst;
    for (Buffer piece : pieces) {
      int part = Math.min(piece.length() - from, size - frame.length());
      frame.appendBuffer(piece, from, part);
      from = 0;
      if (frame.length() == size) {
        break;
      }
    }
    return frame;
  }

  /** Removes {@code size} bytes from the front, and every chunk that is then empty. */
  public void drop(int size) {
    bytes -= size;
    int left = size;
    for (Buffer first = pieces.peek(); first != null; first = pieces.peek()) {
      int part = Math.min(first.length() - sentOfFirst, left);
      sentOfFirst += part;
      left -= part;
      if (sentOfFirst < first.length()) {
        return;
      }
      pieces.remove();
      sentOfFirst = 0;
    }
  }
}
