package dev.berth.protocol.json;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Writes public records as JSON objects by the names of their components. Durations are written as
 * nanoseconds, enum values by their names, empty values as null.
 */
public class RecordWriter {
  public final JsonObject record(Record record) {
    JsonObject json = new JsonObject();
    for (RecordComponent part : record.getClass().getRecordComponents()) {
      try {
        put(json, part.getName(), part.getAccessor().invoke(record));
      } catch (ReflectiveOperationException notPublic) {
        throw new IllegalStateException(part + " (expected: of a public record)", notPublic);
      }
    }
    return json;
  }

  /** Writes a component. Subclasses with other component names override this method. */
  protected void put(JsonObject json, String component, @Nullable Object value) {
    json.put(component, value(value));
  }

  /**
   * Returns the JSON form of a value. A subclass with more types than {@link RecordReader} handles
   * them before it calls this method.
   */
  protected @Nullable Object value(@Nullable Object value) {
    if (value instanceof Record record) {
      return record(record);
    }
    if (value instanceof Collection<?> items) {
      JsonArray all = new JsonArray();
      items.forEach(each -> all.add(value(each)));
      return all;
    }
    if (value instanceof Map<?, ?> map) {
      JsonObject all = new JsonObject();
      map.forEach((name, each) -> all.put((String) name, value(each)));
      return all;
    }
    if (value instanceof OptionalInt number) {
      return number.isPresent() ? (Integer) number.getAsInt() : null;
    }
    if (value instanceof Enum<?> word) {
      return word.name();
    }
    return value instanceof Duration time ? (Object) time.toNanos() : value;
  }
}
