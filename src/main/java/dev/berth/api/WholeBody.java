package dev.berth.api;

import io.vertx.core.buffer.Buffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A body that is completely in memory. Has a single field, because each request holds two of these
 * objects.
 */
abstract class WholeBody {
  private final Object content; // a buffer, or a typed value

  WholeBody(Object content) {
    this.content = content;
  }

  /** Returns the bytes. A typed value is serialized on the first call. */
  public Buffer bytes() {
    return content instanceof TypedValue value
        ? value.bytes()
        : Objects.requireNonNull((Buffer) content, "body: null (expected: bytes)");
  }

  /** Returns the number of bytes without serializing a value; for a typed value, an upper bound. */
  public int length() {
    return content instanceof TypedValue value ? value.length() : bytes().length();
  }

  /** Returns the typed value if both ends of the call use typed values, else null. */
  static @Nullable TypedValue typed(Object body) {
    return body instanceof WholeBody whole && whole.content instanceof TypedValue value
        ? value
        : null;
  }
}
