package dev.berth.web;

import dev.berth.api.Json;
import io.vertx.core.buffer.Buffer;
import org.jspecify.annotations.Nullable;

/** Reading of JSON bodies of one class, with all problems of an invalid body. */
record BodyReader(Class<?> type, ValueModel model, Json json) {

  /** Returns the body; null when there are problems. */
  @Nullable Object read(Buffer bytes, boolean limits, ProblemList problems) {
    Object value = null;
    ProblemList found = new ProblemList();
    try {
      value = json.read(bytes, type);
      new ValueCheck("body", limits, null, problems).check(model, value, "body");
    } catch (Json.Malformed malformed) {
      try {
        Object tree = json.read(bytes, Object.class);
        new ValueCheck("body", limits, json, problems).check(model, tree, "body");
      } catch (Json.Malformed noJson) {
        // Its message equals the first one.
      }
      if (!problems.has(malformed.field())) {
        problems.add("body", malformed.field(), String.valueOf(malformed.getMessage()));
      }
    }
    return value;
  }
}
