package dev.berth.cluster.link;

import io.vertx.core.buffer.Buffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds the frames in what a socket brings, in any pieces: a length of four bytes, then so many. A
 * frame that comes in many pieces is copied once.
 */
final class Frames {
  static final int LENGTH = Integer.BYTES;

  private final int most;
  private @Nullable Buffer partial; // begins with its length
  private int missing; // bytes of it

  /**
   * @param most bytes of a frame, its length not counted
   */
  Frames(int most) {
    this.most = most;
  }

  /**
   * @param frames gets each frame that is whole now, without its length
   * @return what is wrong with the length of the next one; null when nothing is
   */
  @Nullable String take(Buffer piece, List<Buffer> frames) {
    int at = 0;
    while (at < piece.length()) {
      int left = piece.length() - at;
      Buffer begun = partial;
      if (begun == null) {
        int length = left < LENGTH ? 0 : piece.getInt(at);
        if (length < 0 || length > most) {
          return refused(length);
        }
        if (left >= LENGTH + length && left >= LENGTH) {
          frames.add(piece.slice(at + LENGTH, at + LENGTH + length));
          at += LENGTH + length;
          continue;
        }
        begun = Buffer.buffer(LENGTH + length);
        partial = begun;
        missing = left < LENGTH ? LENGTH : LENGTH + length;
      }
      int taken = Math.min(missing, left);
      begun.appendBuffer(piece, at, taken);
      at += taken;
      missing -= taken;
      if (missing == 0 && begun.length() == LENGTH) {
        missing = begun.getInt(0);
        if (missing < 0 || missing > most) {
          return refused(missing);
        }
      }
      if (missing == 0) {
        frames.add(begun.slice(LENGTH, begun.length()));
        partial = null;
      }
    }
    return null;
  }

  private String refused(int length) {
    return "a frame of %s bytes (expected: at most %s)"
        .formatted(Integer.toUnsignedString(length), most);
  }
}
