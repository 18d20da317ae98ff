package dev.berth.web;

import dev.berth.api.Json;
import io.vertx.core.buffer.Buffer;
import org.jspecify.annotations.Nullable;

/** Reading of JSON bodies of one class, with all problems of an invalid body. */
record JsonBodyReader(Class<?> type, ValueModel model, Json json) {
  /** Length of the largest invalid body whose problems are all searched, on an event loop. */
  static final int MAX_SEARCHED_BYTES = 256 * 1024;

  /** Returns the body; null when JSON is no value of the class. */
  @Nullable Object read(Buffer bytes, boolean limits, ProblemList problems) {
    try {
      Object value = json.read(bytes, type);
      new ValueCheck("body", limits, null, problems).check(model, value);
      return value;
    } catch (Json.Malformed malformed) {
      try {
        if (bytes.length() <= MAX_SEARCHED_BYTES) {
          Object tree = json.read(bytes, Object.class);
          new ValueCheck("body", true, json, problems).check(model, tree); // no value to validate
        }
      } catch (Json.Malformed invalid) {
        // No JSON: the first parse has named the place.
      }
      if (!problems.has(malformed.field())) {
        problems.add("body", malformed.field(), String.valueOf(malformed.getMessage()));
      }
      return null;
    }
  }
}
