package dev.berth.web;

import dev.berth.api.Json;
import io.vertx.core.buffer.Buffer;
import java.lang.invoke.MethodType;
import java.math.BigDecimal;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A type whose values one text holds.
 *
 * @param schema its JSON schema
 * @param expected the form of valid texts, for messages
 * @param parse throws a {@link RuntimeException} for an invalid text
 */
record TextType(Map<String, Object> schema, String expected, Function<String, Object> parse) {
  private static final Map<Class<?>, TextType> KNOWN = new HashMap<>();

  static {
    add("string", "a text", text -> text, String.class);
    add("boolean", "true or false", TextType::parseBoolean, boolean.class);
    add("integer int32", "a whole number", Integer::valueOf, int.class);
    add("integer int64", "a whole number", Long::valueOf, long.class);
    add("number double", "a number", text -> new BigDecimal(text).doubleValue(), double.class);
    add("number", "a number", BigDecimal::new, BigDecimal.class);
    add("string uuid", "a UUID", TextType::parseUuid, UUID.class);
    add("string date", "a date such as 2026-01-31", LocalDate::parse, LocalDate.class);
    add("string", "a time such as 12:30", LocalTime::parse, LocalTime.class);
    add("string", "a time such as 2026-01-31T12:30", LocalDateTime::parse, LocalDateTime.class);
    add("string date-time", "a time with its offset", OffsetDateTime::parse, OffsetDateTime.class);
    add("string date-time", "a time such as 2026-01-31T12:30:00Z", Instant::parse, Instant.class);
    add("string duration", "a duration such as PT1M30S", Duration::parse, Duration.class);
    add("string uri", "a URI", URI::create, URI.class);
  }

  /**
   * Adds a class, and its box.
   *
   * @param form type and format of the schema
   */
  private static void add(
      String form, String expected, Function<String, Object> parse, Class<?> type) {
    Map<String, Object> schema = new HashMap<>();
    for (String word : form.split(" ")) {
      schema.put(schema.isEmpty() ? "type" : "format", word);
    }
    TextType text = new TextType(Map.copyOf(schema), expected, parse);
    KNOWN.put(type, text);
    KNOWN.put(MethodType.methodType(type).wrap().returnType(), text);
  }

  private static Object parseBoolean(String text) {
    return switch (text) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException(text);
    };
  }

  private static Object parseUuid(String text) {
    UUID value = UUID.fromString(text); // accepts shorter groups
    if (!value.toString().equalsIgnoreCase(text)) {
      throw new IllegalArgumentException(text);
    }
    return value;
  }

  /** Returns the scalar type of a class; null for other classes. */
  static @Nullable TextType of(Class<?> type, @Nullable Json json) {
    return type.isEnum() ? ofEnum(type, json) : KNOWN.get(type);
  }

  /** Returns an enum type, whose texts are those of the JSON codec if there is one. */
  private static TextType ofEnum(Class<?> type, @Nullable Json json) {
    Map<String, Object> constants = new LinkedHashMap<>();
    for (Object constant : type.getEnumConstants()) {
      Buffer text = json == null ? Buffer.buffer() : json.write(constant);
      boolean named = text.length() > 1 && text.getByte(0) == '"';
      String name = named ? text.getString(1, text.length() - 1) : ((Enum<?>) constant).name();
      constants.put(name, constant);
    }
    List<String> names = List.copyOf(constants.keySet());
    return new TextType(
        Map.of("type", "string", "enum", names),
        "one of " + names,
        text -> {
          Object constant = constants.get(text);
          if (constant == null) {
            throw new IllegalArgumentException(text);
          }
          return constant;
        });
  }
}
