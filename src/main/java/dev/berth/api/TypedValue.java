package dev.berth.api;

import io.vertx.core.buffer.Buffer;
import org.jspecify.annotations.Nullable;

/**
 * A typed value passed between two typed ends of one instance. A shareable value is passed by
 * reference and serialized only on demand, for example for another instance. The presence of this
 * class marks both ends as typed, even when only bytes are passed.
 */
final class TypedValue {
  private final Json json;
  private final @Nullable Object shared;
  private final int length;
  private @Nullable Buffer bytes; // a race serializes twice; the results are equal

  /**
   * Creates a value, serialized at once if it cannot be shared.
   *
   * @throws IllegalArgumentException when the value has no JSON form
   */
  TypedValue(Json json, Object value) {
    this.json = json;
    int atMost = ValueShape.sharedBytes(value, json);
    this.shared = atMost < 0 ? null : value;
    this.bytes = atMost < 0 ? json.write(value) : null;
    this.length = bytes == null ? atMost : bytes.length();
  }

  Buffer bytes() {
    Buffer made = bytes;
    if (made == null) {
      made = json.write(java.util.Objects.requireNonNull(shared));
      bytes = made;
    }
    return made;
  }

  /** Returns the maximum number of bytes of the JSON form. */
  int length() {
    return length;
  }

  /**
   * Returns the value itself if it is shared and of this type, else a value read from the bytes.
   */
  <T> T as(Class<T> type, Json of) throws Json.Malformed {
    return shared != null && shared.getClass() == type ? type.cast(shared) : of.read(bytes(), type);
  }
}
