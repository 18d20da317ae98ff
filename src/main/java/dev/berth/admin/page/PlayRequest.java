package dev.berth.admin.page;

import dev.berth.view.CommandRejectedException;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A request that an operator tries out. It can reach the data port of the instance only: it has a
 * path in place of a URI, and no header that frames a message or names a host.
 *
 * @param headers in their order
 * @param body null for none
 */
record PlayRequest(
    HttpMethod method, String path, List<PlayHeader> headers, @Nullable Buffer body) {
  private static final int MAX_HEADERS = 100;
  private static final Set<String> KEYS =
      Set.of("method", "path", "headers", "body", "body_base64");

  private static final Pattern METHOD = Pattern.compile("(?!CONNECT)[A-Z]{1,20}");
  private static final Pattern PATH = Pattern.compile("/(?!/)[\\x21-\\x7e&&[^#\\\\]]{0,8191}");
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}");
  private static final Pattern VALUE = Pattern.compile("[\\t\\x20-\\x7e\\xa0-\\xff]{0,8192}");

  /** Headers of a connection, of the framing of a message, and of its target. */
  private static final Set<String> REFUSED =
      Set.of(
          "connection",
          "content-length",
          "expect",
          "host",
          "http2-settings",
          "keep-alive",
          "proxy-connection",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade");

  /** A header. */
  record PlayHeader(String name, String value) {}

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
        throw refused(key, json.getValue(key), "one of method, path, headers, body, body_base64");
      }
    }
    String method = matching(METHOD, json, "method", "GET", "capital letters, not CONNECT");
    String path = matching(PATH, json, "path", null, "/ and a path of the data port, ASCII");
    return new PlayRequest(
        HttpMethod.valueOf(method), path, headers(json.getValue("headers")), body(json));
  }

  private static String matching(
      Pattern pattern, JsonObject json, String key, @Nullable String fallback, String expected) {
    Object value = json.getValue(key, fallback);
    if (value instanceof String text && pattern.matcher(text).matches()) {
      return text;
    }
    throw refused(key, value, expected);
  }

  private static List<PlayHeader> headers(@Nullable Object given) {
    List<PlayHeader> headers = new ArrayList<>();
    if (given instanceof JsonObject object) {
      for (Map.Entry<String, Object> each : object) {
        headers.add(header(each.getKey(), each.getValue()));
      }
    } else if (given instanceof JsonArray array) {
      for (Object each : array) {
        if (!(each instanceof JsonArray pair) || pair.size() != 2) {
          throw refused("headers", each, "[name, value]");
        }
        headers.add(header(pair.getValue(0), pair.getValue(1)));
      }
    } else if (given != null) {
      throw refused("headers", given, "a list of [name, value]");
    }
    if (headers.size() > MAX_HEADERS) {
      throw refused("headers", headers.size(), "at most " + MAX_HEADERS);
    }
    return List.copyOf(headers);
  }

  private static PlayHeader header(@Nullable Object name, @Nullable Object value) {
    if (!(name instanceof String named) || !NAME.matcher(named).matches()) {
      throw refused("headers", name, "a name of token characters");
    } else if (!(value instanceof String text) || !VALUE.matcher(text).matches()) {
      throw refused("headers." + named, value, "a text without control characters, Latin-1");
    } else if (REFUSED.contains(named.toLowerCase(Locale.ROOT))) {
      throw refused("headers." + named, value, "none; Berth sets it");
    } else {
      return new PlayHeader(named, text);
    }
  }

  private static @Nullable Buffer body(JsonObject json) {
    Object text = json.getValue("body");
    Object bytes = json.getValue("body_base64");
    if (text != null && bytes != null) {
      throw refused("body_base64", "set", "body, or body_base64");
    } else if (text != null && !(text instanceof String)) {
      throw refused("body", text, "a string");
    } else if (bytes == null) {
      return text == null ? null : Buffer.buffer((String) text);
    }
    try {
      return Buffer.buffer(Base64.getDecoder().decode((String) bytes));
    } catch (IllegalArgumentException | ClassCastException malformed) {
      throw refused("body_base64", bytes, "a string in base64");
    }
  }

  /** Returns a refusal that repeats at most 100 characters, without control characters. */
  private static CommandRejectedException refused(
      String key, @Nullable Object value, String expected) {
    String shown = value instanceof String text ? new JsonArray().add(text).encode() : "" + value;
    String whole = value instanceof String ? shown.substring(1, shown.length() - 1) : shown;
    String cut = whole.length() <= 100 ? whole : whole.substring(0, 100) + "...";
    return CommandRejectedException.invalid("%s: %s (expected: %s)", key, cut, expected);
  }
}
