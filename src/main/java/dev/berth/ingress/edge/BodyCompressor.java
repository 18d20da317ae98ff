package dev.berth.ingress.edge;

import io.netty.buffer.ByteBuf;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import org.jspecify.annotations.Nullable;

/**
 * Compressor of one response. Each result decodes to all bytes so far, so that no event of a stream
 * waits for the next. Confined to one thread at a time.
 */
public final class BodyCompressor {
  private static final byte[] GZIP_HEAD = {0x1f, (byte) 0x8b, 8, 0, 0, 0, 0, 0, 0, (byte) 0xff};
  private static final int CHUNK_BYTES = 8 << 10;

  private final boolean gzip;
  private final CRC32 sum = new CRC32();
  private final byte[] chunk = new byte[CHUNK_BYTES];
  private final int level;
  private @Nullable Deflater begun; // takes memory outside the heap, so not before the first byte

  BodyCompressor(ContentCoding coding, int level) {
    gzip = coding == ContentCoding.GZIP;
    this.level = level;
  }

  /** Compresses a whole response, and frees the memory. */
  public Buffer whole(Buffer body) {
    try {
      return next(body, true);
    } finally {
      close();
    }
  }

  /**
   * Compresses the next bytes of a response.
   *
   * @param last whether the response ends with them
   */
  public Buffer next(Buffer piece, boolean last) {
    Buffer to = Buffer.buffer(Math.max(64, piece.length() / 4));
    if (piece.length() == 0 && !last) {
      return to; // a flush would add bytes for none
    }
    Deflater deflater = begun;
    if (deflater == null) {
      deflater = new Deflater(level, gzip);
      begun = deflater;
      to.appendBytes(GZIP_HEAD, 0, gzip ? GZIP_HEAD.length : 0);
    }
    ByteBuf bytes = ((BufferInternal) piece).getByteBuf();
    for (ByteBuffer each : bytes.nioBuffers()) {
      sum.update(each.duplicate());
      deflater.setInput(each);
      while (!deflater.needsInput()) {
        append(deflater, to, Deflater.NO_FLUSH);
      }
    }
    if (last) {
      deflater.finish();
      while (!deflater.finished()) {
        append(deflater, to, Deflater.NO_FLUSH);
      }
      if (gzip) {
        to.appendIntLE((int) sum.getValue()).appendIntLE(deflater.getTotalIn());
      }
    } else {
      while (append(deflater, to, Deflater.SYNC_FLUSH) == chunk.length) {
        continue; // more may be held
      }
    }
    return to;
  }

  private int append(Deflater deflater, Buffer to, int flush) {
    int length = deflater.deflate(chunk, 0, chunk.length, flush);
    to.appendBytes(chunk, 0, length);
    return length;
  }

  /** Frees the memory outside the heap. */
  public void close() {
    if (begun != null) {
      begun.end();
    }
  }
}
