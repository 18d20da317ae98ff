package dev.berth.api;

import io.vertx.core.buffer.Buffer;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** All of a body. One field: there are two of these in each request. */
abstract class WholeBody {
  private final Object content; // a buffer, or a typed value

  WholeBody(Object content) {
    this.content = content;
  }

  /** The bytes; those of a typed value are made when they are first asked for. */
  public Buffer bytes() {
    return content instanceof TypedValue value
        ? value.bytes()
        : Objects.requireNonNull((Buffer) content, "body: null (expected: bytes)");
  }

  /** How many bytes, without making them: of a typed value how many they may be at most. */
  public int length() {
    return content instanceof TypedValue value ? value.length() : bytes().length();
  }

  /** That both ends of a call know types; null when one of them may not. */
  static @Nullable TypedValue typed(Object body) {
    return body instanceof WholeBody whole && whole.content instanceof TypedValue value
        ? value
        : null;
  }
}
