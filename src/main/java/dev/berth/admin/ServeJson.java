package dev.berth.admin;

import dev.berth.protocol.json.RecordWriter;
import io.vertx.core.json.JsonObject;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Desired and actual state of the controller, complete, as in {@code GET /api/v1/serve}. The
 * records of {@code protocol} become objects with names in snake case, enums by name, times in
 * milliseconds since 1970. Ray Serve's form cannot hold all of it.
 */
public final class ServeJson extends RecordWriter {
  private static final Map<String, String> NAMES = new ConcurrentHashMap<>(); // of components

  private final @Nullable LongFunction<@Nullable Long> wall;

  private ServeJson(@Nullable LongFunction<@Nullable Long> wall) {
    this.wall = wall;
  }

  /** Returns a record as JSON. A {@code config} text becomes the object that was submitted. */
  public static JsonObject of(Record details) {
    return of(details, null);
  }

  /**
   * Returns a record as JSON with wall-clock times: {@code untilNanos} becomes {@code until_ms}.
   *
   * @param wall converts nanoseconds to milliseconds since 1970; null leaves them unchanged
   */
  public static JsonObject of(Record details, @Nullable LongFunction<@Nullable Long> wall) {
    return new ServeJson(wall).record(details);
  }

  private static String snakeCase(String component) {
    return component.replaceAll("(?=[A-Z])", "_").toLowerCase(Locale.ROOT);
  }

  @Override
  protected void put(JsonObject json, String component, @Nullable Object value) {
    String name = NAMES.computeIfAbsent(component, ServeJson::snakeCase);
    if (wall != null && value instanceof Long nanos && name.endsWith("nanos")) {
      json.put(name.replace("nanos", "ms"), wall.apply(nanos));
    } else if (name.equals("config") && value instanceof String submitted) {
      json.put(name, new JsonObject(submitted));
    } else {
      super.put(json, name, value);
    }
  }
}
