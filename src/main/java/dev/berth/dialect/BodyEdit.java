package dev.berth.dialect;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.nio.charset.StandardCharsets;

/**
 * A replacement of bytes of a body.
 *
 * @param start offset of the first replaced byte
 * @param end offset behind the last replaced byte; {@code start} for an insertion
 * @param text the new bytes, as UTF-8
 */
public record BodyEdit(int start, int end, String text) {

  /**
   * Returns the edited body. It shares the memory of the given one, which must not change while the
   * result is in use.
   */
  public Buffer apply(Buffer body) {
    // Neither a release of the result nor its loss affects the body.
    ByteBuf bytes = Unpooled.unreleasableBuffer(((BufferInternal) body).getByteBuf());
    return BufferInternal.buffer(
        new CompositeByteBuf(UnpooledByteBufAllocator.DEFAULT, false, 3)
            .addComponent(true, bytes.slice(0, start))
            .addComponent(true, Unpooled.wrappedBuffer(text.getBytes(StandardCharsets.UTF_8)))
            .addComponent(true, bytes.slice(end, body.length() - end)));
  }

  /** Returns the new offset of a byte that the edit does not replace. */
  public int shift(int offset) {
    return offset < end
        ? offset
        : offset + text.getBytes(StandardCharsets.UTF_8).length - (end - start);
  }
}
