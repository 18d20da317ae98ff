package dev.berth.config.keys;

import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A JSON Schema of draft 2020-12, generated from the same keys as the reader and the reference. It
 * makes the same checks of single values as the reader, so that an editor can show problems while
 * the file is written. Only the reader checks rules over several keys and the existence of files,
 * and distinguishes 1 from 1.0, which JSON does not.
 */
public final class Schema extends LinkedHashMap<String, Object> {

  private static final long serialVersionUID = 1L;

  private Schema() {}

  /** Returns the schema of a whole file: maps, lists, strings, numbers and booleans, as in JSON. */
  public static Map<String, Object> document(Section file) {
    Schema document = new Schema();
    document.with("$schema", "https://json-schema.org/draft/2020-12/schema");
    document.with("title", "Configuration of Berth");
    document.putAll(file.schema());
    return document;
  }

  /** Returns a schema that permits any value. */
  static Schema any() {
    return new Schema();
  }

  /**
   * Returns a schema of a type.
   *
   * @param type as JSON Schema names it
   */
  public static Schema of(String type) {
    return any().with("type", type);
  }

  /** Returns a schema that permits only some values. */
  public static Schema oneOf(List<?> values) {
    return any().with("enum", values);
  }

  /**
   * Returns a schema of strings.
   *
   * @param pattern as in JSON Schema, a regular expression of ECMA-262
   */
  public static Schema text(String pattern) {
    return of("string").with("pattern", pattern);
  }

  /** Sets a keyword of this schema, and returns this object. */
  public Schema with(String keyword, Object value) {
    put(keyword, value);
    return this;
  }

  /** Returns the schema of a key's value, with its description and default for editors. */
  static Schema ofKey(ConfigKey<?> key) {
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

  /** Returns the default as JSON; null when the default is only described in words. */
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
