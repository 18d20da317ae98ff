package dev.berth.protocol.json;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads the JSON of a {@link RecordWriter}. Unknown names are ignored. A missing or invalid value
 * causes an {@link IllegalArgumentException} that names its path.
 */
public class RecordReader {
  public final <T> T the(String path, @Nullable Object value, Class<T> type) {
    if (!type.isInstance(value)) {
      throw wrong(path, value, type);
    }
    return type.cast(value);
  }

  protected static IllegalArgumentException wrong(
      String path, @Nullable Object value, Class<?> expected) {
    return new IllegalArgumentException(
        "%s: %s (expected: %s)"
            .formatted(path, value == null ? "missing" : value, expected.getSimpleName()));
  }

  /**
   * Reads a record.
   *
   * @param path path of the value, for messages; empty for the whole document
   */
  public final <T> T record(String path, @Nullable Object value, Class<T> type) {
    JsonObject of = the(path, value, JsonObject.class);
    String before = path.isEmpty() ? "" : path + ".";
    RecordComponent[] parts = type.getRecordComponents();
    @Nullable Object[] values = new @Nullable Object[parts.length];
    for (int i = 0; i < parts.length; i++) {
      String name = parts[i].getName();
      Object given = of.getValue(name);
      boolean absent =
          given == null && parts[i].getAnnotatedType().isAnnotationPresent(Nullable.class);
      values[i] = absent ? null : value(before + name, given, parts[i].getGenericType(), type);
    }
    Class<?>[] types = Stream.of(parts).map(RecordComponent::getType).toArray(Class<?>[]::new);
    try {
      return type.getConstructor(types).newInstance(values);
    } catch (ReflectiveOperationException refused) {
      throw new IllegalArgumentException(before + type.getSimpleName(), refused);
    }
  }

  /**
   * Reads one value. A subclass with further types handles them before it calls this method.
   *
   * @param of the record that contains the component
   */
  protected Object value(String path, @Nullable Object value, Type generic, Class<?> of) {
    Class<?> type = rawType(generic);
    if (type == OptionalInt.class) {
      return value == null ? OptionalInt.empty() : OptionalInt.of(number(path, value).intValue());
    }
    if (type.isRecord()) {
      return record(path, value, type);
    }
    if (generic instanceof ParameterizedType all) {
      Object read = all(path, value, all.getActualTypeArguments(), of);
      return type == Set.class ? new LinkedHashSet<>((List<?>) read) : read;
    }
    return type.isEnum() ? word(path, value, type) : single(path, value, type);
  }

  /** Reads a list, also used for a set, or a map with text keys. */
  private Object all(String path, @Nullable Object value, Type[] types, Class<?> of) {
    if (types.length == 1) {
      JsonArray items = the(path, value, JsonArray.class);
      List<Object> all = new ArrayList<>();
      for (int i = 0; i < items.size(); i++) {
        all.add(value(path + "[" + i + "]", items.getValue(i), types[0], of));
      }
      return all;
    }
    JsonObject named = the(path, value, JsonObject.class);
    Map<String, Object> all = new HashMap<>();
    for (String name : named.fieldNames()) {
      all.put(name, value(path + "." + name, named.getValue(name), types[1], of));
    }
    return all;
  }

  private static Object word(String path, @Nullable Object value, Class<?> type) {
    return Stream.of(type.getEnumConstants())
        .filter(each -> ((Enum<?>) each).name().equals(value))
        .findFirst()
        .orElseThrow(() -> wrong(path, value, type));
  }

  private Object single(String path, @Nullable Object value, Class<?> type) {
    if (type == int.class) {
      return number(path, value).intValue();
    }
    if (type == long.class) {
      return number(path, value).longValue();
    }
    if (type == Double.class) {
      return number(path, value).doubleValue();
    }
    if (type == Duration.class) {
      return Duration.ofNanos(number(path, value).longValue());
    }
    return type == boolean.class ? the(path, value, Boolean.class) : the(path, value, type);
  }

  protected final Number number(String path, @Nullable Object value) {
    return the(path, value, Number.class);
  }

  /** Returns the class of a type, without its type parameters. */
  public static Class<?> rawType(Type of) {
    return (Class<?>) (of instanceof ParameterizedType generic ? generic.getRawType() : of);
  }
}
