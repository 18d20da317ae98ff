package dev.berth.examples;

import dev.berth.api.Response;
import io.vertx.core.json.JsonObject;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** What a client sent and cannot be used, told so that the client can mend it. */
final class BadInput extends Exception {
  private static final long serialVersionUID = 1L;

  /** Characters of the client's value that an answer repeats. */
  static final int VALUE_CHARS_MAX = 64;

  private final int status;
  private final String code;
  private final String field;
  private final String value;
  private final String expected;

  /**
   * @param value what came, told by its text; null is told as absent
   */
  BadInput(String field, @Nullable Object value, String expected) {
    this(400, "bad_input", field, value, expected);
  }

  private BadInput(int status, String code, String field, @Nullable Object value, String expected) {
    super(field + ": " + told(value) + " (expected: " + expected + ")", null, false, false);
    this.status = status;
    this.code = code;
    this.field = field;
    this.value = told(value);
    this.expected = expected;
  }

  /** 400 or what it is, with the field, the value and what was expected as JSON. */
  Response toResponse() {
    JsonObject error =
        new JsonObject()
            .put("code", code)
            .put("message", getMessage())
            .put("field", field)
            .put("value", value)
            .put("expected", expected);
    return Response.json(status, error.encode());
  }

  /** 405, with the methods that are served. */
  static Response methodNotAllowed(String method, String allowed) {
    return new BadInput(405, "method_not_allowed", "method", method, allowed)
        .toResponse()
        .withHeader("allow", allowed);
  }

  /** 415, with the content types that are served. */
  static BadInput unsupportedContentType(@Nullable String contentType, String supported) {
    return new BadInput(415, "unsupported_content_type", "content-type", contentType, supported);
  }

  /** A content type without its parameters, in lower case; empty when there is none. */
  static String mediaType(@Nullable String contentType) {
    if (contentType == null) {
      return "";
    }
    int parameters = contentType.indexOf(';');
    String type = parameters < 0 ? contentType : contentType.substring(0, parameters);
    return type.strip().toLowerCase(Locale.ROOT);
  }

  private static String told(@Nullable Object value) {
    String text = value == null ? "absent" : value.toString();
    return text.length() <= VALUE_CHARS_MAX ? text : text.substring(0, VALUE_CHARS_MAX) + "…";
  }
}
