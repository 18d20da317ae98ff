package dev.berth.admin.page;

import dev.berth.view.CommandRejectedException;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Base64;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A request that an operator tries out. It can reach the data port of the instance only: it has a
 * path in place of a URI, and no header that frames a message or names a host.
 *
 * @param body null for none
 */
record PlayRequest(HttpMethod method, String path, MultiMap headers, @Nullable Buffer body) {
  private static final int MAX_HEADERS = 100;
  private static final Set<String> KEYS =
      Set.of("method", "path", "headers", "body", "body_base64");

  private static final Pattern METHOD = Pattern.compile("(?!CONNECT)[A-Z]{1,20}");
  private static final Pattern PATH = Pattern.compile("/(?!/)[\\x21-\\x7e&&[^#\\\\]]{0,8191}");
  private static final Pattern VALUE = Pattern.compile("[\\t\\x20-\\x7e\\xa0-\\xff]{0,8192}");

  /** A token, and no header of a connection, of the framing of a message, or of its target. */
  private static final Pattern NAME =
      Pattern.compile(
          "(?i)(?!(?:connection|content-length|expect|host|http2-settings|keep-alive"
              + "|proxy-connection|te|trailer|transfer-encoding|upgrade)$)"
              + "[a-z0-9!#$%&'*+.^_`|~-]{1,256}");

  /**
   * Parses the JSON of a request.
   *
   * @throws CommandRejectedException with the key and the value of the first problem
   */
  static PlayRequest of(String text) {
    JsonObject json;
    try {
      json = new JsonObject(text);
    } catch (DecodeException | ClassCastException noObject) {
      throw CommandRejectedException.invalid("body: not a JSON object (expected: {\"path\": …})");
    }
    for (String key : json.fieldNames()) {
      if (!KEYS.contains(key)) {
        throw problem(key, json.getValue(key), "one of method, path, headers, body, body_base64");
      }
    }
    String method = matching(METHOD, json, "method", "GET", "capital letters, not CONNECT");
    String path = matching(PATH, json, "path", null, "/ and a path of the data port, ASCII");
    return new PlayRequest(
        HttpMethod.valueOf(method), path, headers(json.getValue("headers")), body(json));
  }

  /** Returns the method and the path, without the query, for the audit log. */
  Object[] subject() {
    return new Object[] {"method", method.name(), "path", path.split("\\?")[0]};
  }

  private static String matching(
      Pattern pattern, JsonObject json, String key, @Nullable String fallback, String expected) {
    Object value = json.getValue(key, fallback);
    if (value instanceof String text && pattern.matcher(text).matches()) {
      return text;
    }
    throw problem(key, value, expected);
  }

  private static MultiMap headers(@Nullable Object given) {
    MultiMap headers = HttpHeaders.headers();
    if (!(given instanceof JsonArray pairs) || pairs.size() > MAX_HEADERS) {
      if (given == null) {
        return headers;
      }
      throw problem("headers", given, "at most " + MAX_HEADERS + " of [name, value]");
    }
    for (Object each : pairs) {
      if (each instanceof JsonArray pair
          && pair.size() == 2
          && pair.getValue(0) instanceof String name
          && pair.getValue(1) instanceof String value
          && NAME.matcher(name).matches()
          && VALUE.matcher(value).matches()) {
        headers.add(name, value);
      } else {
        throw problem("headers", each, "[name, value] on one line; Berth sets Host and framing");
      }
    }
    return headers;
  }

  private static @Nullable Buffer body(JsonObject json) {
    Object text = json.getValue("body");
    Object bytes = json.getValue("body_base64");
    if (text != null && bytes != null) {
      throw problem("body_base64", "", "body, or body_base64");
    }
    try {
      return bytes != null
          ? Buffer.buffer(Base64.getDecoder().decode((String) bytes))
          : text == null ? null : Buffer.buffer((String) text);
    } catch (IllegalArgumentException | ClassCastException malformed) {
      throw problem("body", text == null ? bytes : text, "a string, or body_base64 in base64");
    }
  }

  /** Returns a refusal that repeats at most 100 characters, escaped as in JSON. */
  private static CommandRejectedException problem(
      String key, @Nullable Object value, String expected) {
    String shown = new JsonArray().add(value).encode();
    String cut =
        shown.length() <= 102
            ? shown.substring(1, shown.length() - 1)
            : shown.substring(1, 101) + "...";
    return CommandRejectedException.invalid("%s: %s (expected: %s)", key, cut, expected);
  }
}
