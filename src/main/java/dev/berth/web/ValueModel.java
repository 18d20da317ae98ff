package dev.berth.web;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * JSON form of one use of a Java type. Immutable.
 *
 * @param raw the class without {@code Optional}
 * @param scalar set for a value in one text
 * @param members set for a record
 * @param element set for a list, an array, a set or a map: the form of its values
 * @param required false for {@code Optional} and nullable uses
 * @param limits keywords of JSON schema from annotations of Jakarta Validation
 */
record ValueModel(
    Class<?> raw,
    @Nullable TextType scalar,
    @Nullable RecordModel members,
    @Nullable ValueModel element,
    boolean required,
    Map<String, Object> limits) {

  boolean isMap() {
    return Map.class.isAssignableFrom(raw);
  }

  boolean isList() {
    return element != null && !isMap();
  }

  /** Returns the content type of results: text for strings, null without one, else JSON. */
  @Nullable String mediaType() {
    if (raw == Void.class || raw == dev.berth.api.Response.class) {
      return null;
    }
    return raw == String.class ? "text/plain; charset=utf-8" : TypedRoute.JSON;
  }

  /** Returns the JSON schema; records are references into the components of the document. */
  Map<String, Object> schema(boolean nullable, Map<Class<?>, String> names) {
    Map<String, Object> schema = new LinkedHashMap<>();
    if (scalar != null) {
      schema.putAll(scalar.schema());
    } else if (members != null) {
      schema.put("$ref", "#/components/schemas/" + names.get(raw));
    } else if (element != null) {
      schema.put("type", isMap() ? "object" : "array");
      schema.put(isMap() ? "additionalProperties" : "items", element.schema(true, names));
    }
    schema.putAll(limits);
    if (!nullable || required || schema.isEmpty()) {
      return schema;
    }
    if (schema.containsKey("type") && !schema.containsKey("enum")) {
      schema.put("type", List.of(schema.get("type"), "null"));
      return schema;
    }
    return Map.of("anyOf", List.of(schema, Map.of("type", "null")));
  }
}
