package dev.berth.config.keys;

import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A JSON Schema of draft 2020-12, made from the same keys as the reading and the reference. It says
 * of each value what the reading says of it, for an editor to show while the file is written. Left
 * to the reading are rules over several keys, files that must exist, and the difference between 1
 * and 1.0, which JSON does not make.
 */
public final class Schema extends LinkedHashMap<String, Object> {

  private static final long serialVersionUID = 1L;

  private Schema() {}

  /** The schema of a whole file: maps, lists, strings, numbers and booleans, as JSON has them. */
  public static Map<String, Object> document(Section file) {
    Schema document = new Schema();
    document.with("$schema", "https://json-schema.org/draft/2020-12/schema");
    document.with("title", "Configuration of Berth");
    document.putAll(file.schema());
    return document;
  }

  /** Anything. */
  static Schema any() {
    return new Schema();
  }

  /**
   * @param type as JSON Schema names it
   */
  public static Schema of(String type) {
    return any().with("type", type);
  }

  /** One of a few values. */
  public static Schema oneOf(List<?> values) {
    return any().with("enum", values);
  }

  /**
   * A string.
   *
   * @param pattern as JSON Schema has it, a regular expression of ECMA-262
   */
  public static Schema text(String pattern) {
    return of("string").with("pattern", pattern);
  }

  /** This schema, changed. */
  public Schema with(String keyword, Object value) {
    put(keyword, value);
    return this;
  }

  /** What stands behind {@code key}, with what an editor shows of it. */
  static Schema ofKey(Key<?> key) {
    Map<String, Object> value = key.type().schema();
    Schema schema = any();
    if (!key.nullable()) {
      schema.putAll(value);
    } else if (!value.isEmpty()) {
      schema.with("anyOf", List.of(value, of("null")));
    }
    schema.with("description", key.meaning());
    Object fallback = fallback(value.get("type"), key.fallbackText());
    if (fallback != null && !key.required()) {
      schema.with("default", fallback);
    }
    if (key.noEffect() != null || key.instead() != null) {
      schema.with("deprecated", true); // editors strike it through
    }
    return schema;
  }

  /** The default as JSON; null when it is only told in words. */
  private static @Nullable Object fallback(@Nullable Object type, String text) {
    if (text.equals("null")) {
      return null;
    }
    if ("string".equals(type) || (type == null && !text.matches("[0-9]+") && !text.isEmpty())) {
      return text;
    }
    if ("boolean".equals(type)) {
      return Boolean.valueOf(text);
    }
    return text.matches("-?[0-9]+(\\.[0-9]+)?") ? new BigDecimal(text) : null;
  }
}
