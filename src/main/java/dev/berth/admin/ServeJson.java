package dev.berth.admin;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * What the controller keeps true, whole, as {@code GET /api/v1/serve} gives it: the records of
 * {@code protocol} under their names in snake case, enums by name, times in milliseconds since
 * 1970. Ray Serve's shape has no room for all of it.
 */
public final class ServeJson {
  private ServeJson() {}

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
    JsonObject json = new JsonObject();
    for (RecordComponent each : details.getClass().getRecordComponents()) {
      String name = each.getName().replaceAll("(?=[A-Z])", "_").toLowerCase(Locale.ROOT);
      Object value = value(each, details);
      boolean submitted = name.equals("config") && value instanceof String;
      if (wall != null && value instanceof Long nanos && name.endsWith("nanos")) {
        json.put(name.replace("nanos", "ms"), wall.apply(nanos));
      } else {
        json.put(name, submitted ? new JsonObject((String) value) : json(value, wall));
      }
    }
    return json;
  }

  private static @Nullable Object value(RecordComponent component, Record of) {
    try {
      return component.getAccessor().invoke(of);
    } catch (ReflectiveOperationException impossible) { // they are public
      throw new IllegalStateException(impossible);
    }
  }

  private static @Nullable Object json(
      @Nullable Object value, @Nullable LongFunction<@Nullable Long> wall) {
    if (value instanceof List<?> list) {
      return new JsonArray(new ArrayList<>(list.stream().map(each -> json(each, wall)).toList()));
    }
    if (value instanceof Map<?, ?> map) { // copied: those of a configuration cannot be changed
      JsonObject copy = new JsonObject();
      map.forEach((key, each) -> copy.put(String.valueOf(key), each));
      return copy;
    }
    return value instanceof Record record
        ? of(record, wall)
        : value instanceof Enum<?> word ? word.name() : value;
  }
}
