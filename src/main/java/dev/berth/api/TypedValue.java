package dev.berth.api;

import io.vertx.core.buffer.Buffer;
import org.jspecify.annotations.Nullable;

/**
 * A value between two typed parts of one instance. Where it can be shared it is, and its bytes are
 * made only for who asks for them, such as another instance. That both ends know types is known by
 * this class being there, also when only bytes travel.
 */
final class TypedValue {
  private final Json json;
  private final @Nullable Object shared;
  private final int length;
  private @Nullable Buffer bytes; // two threads may make them: they are alike

  /**
   * @throws IllegalArgumentException when it has no JSON
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

  /** Bytes at most. */
  int length() {
    return length;
  }

  /** The value itself, or one that is made of its bytes. */
  <T> T as(Class<T> type, Json of) throws Json.Malformed {
    return shared != null && shared.getClass() == type ? type.cast(shared) : of.read(bytes(), type);
  }
}
