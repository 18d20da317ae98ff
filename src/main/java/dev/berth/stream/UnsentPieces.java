package dev.berth.stream;

import io.vertx.core.buffer.Buffer;
import java.util.ArrayDeque;

/**
 * Pieces of a stream that wait to be sent, in order. They leave as bytes: a frame is a part of a
 * piece or several of them, as credit allows. Not safe for several threads.
 */
public final class UnsentPieces {
  private final ArrayDeque<Buffer> pieces = new ArrayDeque<>();
  private int sentOfFirst; // bytes
  private long bytes; // not sent

  /** Adds a piece, which is read only; it may be empty. */
  public void add(Buffer piece) {
    pieces.add(piece);
    bytes += piece.length();
  }

  /** Bytes that wait. */
  public long bytes() {
    return bytes;
  }

  /** Bytes of the pieces that are here, with what of the first has been sent. */
  public long heldBytes() {
    return bytes + sentOfFirst;
  }

  /** The next {@code size} bytes, without a copy when one piece has them; at least one is here. */
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
   * Takes {@code size} bytes off the front, and every piece that is then empty.
   *
   * @return how many pieces have left
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
