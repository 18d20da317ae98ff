package dev.berth.cluster.link;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds the frames in what a socket brings, in any pieces: a length of four bytes, then so many.
 * Each byte is copied once: what is whole in a piece together, what comes in many by itself.
 */
final class Frames {
  static final int LENGTH = Integer.BYTES;

  /** How what TLS says first begins: a record of a handshake, of major version 3. */
  private static final int TLS_HANDSHAKE = 0x1603;

  private final int most;
  private @Nullable ByteBuf partial; // begins with its length, and ends where the frame does
  private final ByteBuf length =
      Unpooled.buffer(LENGTH, LENGTH); // of the next one, as far as it has come

  /**
   * @param most bytes of a frame, its length not counted
   */
  Frames(int most) {
    this.most = most;
  }

  /**
   * @param piece read to its end, unless something is wrong; its bytes are its owner's
   * @param frames gets each frame that is whole now, without its length
   * @return what is wrong with the length of the next one; null when nothing is
   */
  @Nullable String take(ByteBuf piece, List<Buffer> frames) {
    Buffer copy = null; // of the piece, from its first whole frame on
    int copied = 0; // where that begins
    while (piece.isReadable()) {
      ByteBuf begun = partial;
      if (begun == null) {
        length.writeBytes(piece, Math.min(length.writableBytes(), piece.readableBytes()));
        if (length.isWritable()) {
          return null;
        }
        int bytes = length.getInt(0);
        length.clear();
        if (bytes < 0 || bytes > most) {
          return refused(bytes);
        }
        if (bytes <= piece.readableBytes()) {
          if (copy == null) {
            copied = piece.readerIndex();
            copy = BufferInternal.buffer(Unpooled.copiedBuffer(piece));
          }
          int at = piece.readerIndex() - copied;
          frames.add(copy.slice(at, at + bytes));
          piece.skipBytes(bytes);
          continue;
        }
        begun = Unpooled.buffer(bytes, bytes);
        partial = begun;
      }
      begun.writeBytes(piece, Math.min(begun.writableBytes(), piece.readableBytes()));
      if (!begun.isWritable()) {
        frames.add(BufferInternal.buffer(begun));
        partial = null;
      }
    }
    return null;
  }

  private String refused(int length) {
    if (length >>> Short.SIZE == TLS_HANDSHAKE) {
      return "it speaks TLS (expected: none, as berth.cluster.insecure says here)";
    }
    return "a frame of %s bytes (expected: at most %s)"
        .formatted(Integer.toUnsignedString(length), most);
  }
}
