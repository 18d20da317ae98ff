package dev.berth.dialect;

import io.vertx.core.buffer.Buffer;

/**
 * A replacement of bytes of a body.
 *
 * @param start offset of the first replaced byte
 * @param end offset behind the last replaced byte; {@code start} for an insertion
 * @param text the new bytes, as UTF-8
 */
public record BodyEdit(int start, int end, String text) {

  /** Returns the edited body. It shares the memory of the given one, and copies no large part. */
  public Buffer apply(Buffer body) {
    throw new UnsupportedOperationException();
  }
}
