package dev.berth.cluster.link;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decodes frames from the bytes of a socket: a length of four bytes, then the payload. Each byte is
 * copied once. Frames that are complete within one read share one copy; a frame that spans several
 * reads has its own.
 */
final class FrameDecoder {
  static final int LENGTH = Integer.BYTES;

  /** First bytes of a TLS connection: a handshake record of major version 3. */
  private static final int TLS_HANDSHAKE = 0x1603;

  private final int most;
  private @Nullable ByteBuf partial; // capacity is the frame's length
  private final ByteBuf length =
      Unpooled.buffer(LENGTH, LENGTH); // received bytes of the next length

  /**
   * Creates a decoder.
   *
   * @param most maximum size of a frame in bytes, without its length
   */
  FrameDecoder(int most) {
    this.most = most;
  }

  /**
   * Decodes the bytes of one read.
   *
   * @param piece consumed to its end unless a length is malformed; not released
   * @param frames receives each complete frame, without its length
   * @return the problem with a frame's length; null for none
   */
  @Nullable String take(ByteBuf piece, List<Buffer> frames) {
    Buffer copy = null; // of the bytes from the first complete frame
    int copied = 0; // start of the copy
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
          return lengthProblem(bytes);
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

  private String lengthProblem(int length) {
    if (length >>> Short.SIZE == TLS_HANDSHAKE) {
      return "it uses TLS (expected: none, since berth.cluster.insecure is set here)";
    }
    return "a frame of %s bytes (expected: at most %s)"
        .formatted(Integer.toUnsignedString(length), most);
  }
}
