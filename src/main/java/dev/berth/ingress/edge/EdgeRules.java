package dev.berth.ingress.edge;

import dev.berth.config.edge.EdgeOptions;
import dev.berth.config.keys.Settings;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Rules of a route for browsers. Immutable.
 *
 * @param headers added to responses without them
 * @param decodes whether request bodies are decoded
 */
public record EdgeRules(
    @Nullable CompressionRules compression,
    @Nullable CorsRules cors,
    Map<String, @Nullable Object> headers,
    boolean decodes) {

  /** Returns the rules in the settings of a route; null for none. */
  public static @Nullable EdgeRules of(Settings route) {
    Settings compression = route.find(EdgeOptions.COMPRESSION);
    Settings cors = route.find(EdgeOptions.CORS);
    EdgeRules rules =
        new EdgeRules(
            compression == null ? null : CompressionRules.of(compression),
            cors == null ? null : CorsRules.of(cors),
            route.get(EdgeOptions.RESPONSE_HEADERS),
            route.get(EdgeOptions.DECODE_REQUESTS));
    return rules.equals(new EdgeRules(null, null, Map.of(), false)) ? null : rules;
  }

  /** Returns whether a request is a preflight, which the ingress answers. */
  public boolean answers(HttpServerRequest request) {
    return cors != null && CorsRules.isPreflight(request);
  }

  /** Adds headers to a response, which may be one of Berth itself. */
  public void apply(HttpServerRequest request, MultiMap response) {
    if (cors != null) {
      cors.apply(request, response);
    }
    addMissing(headers, response);
  }

  /** Adds headers that a response does not have. */
  public static void addMissing(Map<String, @Nullable Object> headers, MultiMap response) {
    headers.forEach(
        (name, value) -> {
          if (!response.contains(name)) {
            response.set(name, String.valueOf(value));
          }
        });
  }

  /**
   * Returns a compressor for a response with a complete head, and adapts the head.
   *
   * @param accepted values of {@code Accept-Encoding}
   * @param length in bytes; negative if unknown
   * @param sends whether the response has a body, and may have one of another length
   * @return null to send it as it is
   */
  public @Nullable BodyCompressor compressor(
      List<String> accepted, MultiMap response, long length, boolean sends) {
    ContentCoding coding =
        compression == null ? null : compression.choose(accepted, response, length);
    return compression == null || coding == null || !sends
        ? null
        : compression.compressor(coding, response);
  }

  static void addVary(MultiMap response, String name) {
    List<String> before = response.getAll(HttpHeaders.VARY);
    boolean has =
        before.stream()
            .flatMap(line -> List.of(line.split(",")).stream())
            .anyMatch(each -> each.strip().equalsIgnoreCase(name) || each.strip().equals("*"));
    if (!has) {
      response.add(HttpHeaders.VARY, name);
    }
  }
}
