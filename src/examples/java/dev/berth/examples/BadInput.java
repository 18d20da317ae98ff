package dev.berth.examples;

import dev.berth.api.Response;
import io.vertx.core.json.JsonObject;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** An error for invalid client input, with the details that the client needs to correct it. */
final class BadInput extends Exception {
  private static final long serialVersionUID = 1L;

  /** Maximum number of characters of the client's value in a response. */
  static final int VALUE_CHARS_MAX = 64;

  private final int status;
  private final String code;
  private final String field;
  private final String value;
  private final String expected;

  /**
   * @param value invalid value, reported by its text; null for an absent one
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

  /**
   * Returns a response with the status, by default 400, and with field, value and expectation as
   * JSON.
   */
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

  /** Returns a 405 response with the supported methods. */
  static Response methodNotAllowed(String method, String allowed) {
    return new BadInput(405, "method_not_allowed", "method", method, allowed)
        .toResponse()
        .withHeader("allow", allowed);
  }

  /** Returns a 415 error with the supported content types. */
  static BadInput unsupportedContentType(@Nullable String contentType, String supported) {
    return new BadInput(415, "unsupported_content_type", "content-type", contentType, supported);
  }

  /** Returns a content type without its parameters, in lower case; empty for null. */
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
