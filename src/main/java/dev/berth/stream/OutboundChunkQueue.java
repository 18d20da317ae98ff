package dev.berth.stream;

import io.vertx.core.buffer.Buffer;
import java.util.ArrayDeque;

/**
 * FIFO queue of the unsent chunks of a stream. They are sent as bytes: a frame holds a part of a
 * chunk or several chunks, as credit allows. Not thread-safe.
 */
public final class OutboundChunkQueue {
  private final ArrayDeque<Buffer> pieces = new ArrayDeque<>();
  private int sentOfFirst; // bytes of the first chunk that were sent
  private long bytes; // unsent

  /** Adds a chunk, which may be empty. The chunk is only read. */
  public void add(Buffer piece) {
    pieces.add(piece);
    bytes += piece.length();
  }

  /** Returns the number of unsent bytes. */
  public long bytes() {
    return bytes;
  }

  /** Returns the bytes of the queued chunks, including the part of the first that was sent. */
  public long heldBytes() {
    return bytes + sentOfFirst;
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

  /**
   * Removes {@code size} bytes from the front, and every chunk that is then empty.
   *
   * @return number of removed chunks
   */
  public int drop(int size) {
    bytes -= size;
    int left = size;
    int gone = 0;
    for (Buffer first = pieces.peek(); first != null; first = pieces.peek()) {
      int part = Math.min(first.length() - sentOfFirst, left);
      sentOfFirst += part;
      left -= part;
      if (sentOfFirst < first.length()) {
        return gone;
      }
      pieces.remove();
      sentOfFirst = 0;
      gone++;
    }
    return gone;
  }
}
