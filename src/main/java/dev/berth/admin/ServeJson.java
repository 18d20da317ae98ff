package dev.berth.admin;

import dev.berth.protocol.json.RecordWriter;
import io.vertx.core.json.JsonObject;
import java.util.Locale;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * What the controller keeps true, whole, as {@code GET /api/v1/serve} gives it: the records of
 * {@code protocol} under their names in snake case, enums by name, times in milliseconds since
 * 1970. Ray Serve's shape has no room for all of it.
 */
public final class ServeJson extends RecordWriter {
  private final @Nullable LongFunction<@Nullable Long> wall;

  private ServeJson(@Nullable LongFunction<@Nullable Long> wall) {
    this.wall = wall;
  }

  /** One of these records; a {@code config} that is text is the object that was submitted. */
  public static JsonObject of(Record details) {
    return of(details, null);
  }

  /**
   * The same with times as people have them: {@code untilNanos} is {@code until_ms}.
   *
   * @param wall gives milliseconds since 1970 for nanoseconds; null leaves them as they are
   */
  public static JsonObject of(Record details, @Nullable LongFunction<@Nullable Long> wall) {
    return new ServeJson(wall).record(details);
  }

  @Override
  protected void put(JsonObject json, String component, @Nullable Object value) {
    String name = component.replaceAll("(?=[A-Z])", "_").toLowerCase(Locale.ROOT);
    if (wall != null && value instanceof Long nanos && name.endsWith("nanos")) {
      json.put(name.replace("nanos", "ms"), wall.apply(nanos));
    } else if (name.equals("config") && value instanceof String submitted) {
      json.put(name, new JsonObject(submitted));
    } else {
      super.put(json, name, value);
    }
  }
}
