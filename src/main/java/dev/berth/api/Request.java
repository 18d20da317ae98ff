package dev.berth.api;

import io.vertx.core.buffer.Buffer;
import org.jspecify.annotations.Nullable;

/**
 * One request, with its body whole (at most 64 KiB in this version; larger requests are refused at
 * the ingress with 413).
 *
 * @param method the HTTP method, upper case
 * @param path the path as received, without the query; starts with {@code /}
 * @param query the raw query without {@code ?}, or null when there is none
 * @param headers read only
 * @param body read only; a handler that wants to change it copies it first
 */
public record Request(
    String method, String path, @Nullable String query, Headers headers, Buffer body) {

  /** A GET without headers or body. */
  public static Request get(String path) {
    return new Request("GET", path, null, Headers.empty(), Buffer.buffer(0));
  }

  /** A POST with a body and no headers. */
  public static Request post(String path, Buffer body) {
    return new Request("POST", path, null, Headers.empty(), body);
  }

  /**
   * The first value of a query parameter, percent-decoded; null when absent. A parameter without
   * {@code =} has the value {@code ""}.
   */
  public @Nullable String queryParameter(String name) {
    if (query == null) {
      return null;
    }
    for (String part : query.split("&")) {
      int equals = part.indexOf('=');
      String key = equals < 0 ? part : part.substring(0, equals);
      if (decode(key).equals(name)) {
        return equals < 0 ? "" : decode(part.substring(equals + 1));
      }
    }
    return null;
  }

  private static String decode(String text) {
    try {
      return java.net.URLDecoder.decode(text, java.nio.charset.StandardCharsets.UTF_8);
    } catch (IllegalArgumentException malformed) {
      return text; // a stray % means itself, as browsers have it
    }
  }
}
