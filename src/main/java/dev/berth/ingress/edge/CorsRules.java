package dev.berth.ingress.edge;

import dev.berth.config.edge.EdgeOptions;
import dev.berth.config.keys.Settings;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Pages of other origins that may use a route (Fetch, CORS protocol). They replace such rules of
 * the application.
 *
 * @param origins values of Origin, or {@code *}
 * @param methods of preflights, as sent
 * @param headers of preflights, as sent
 * @param exposed response headers, as sent; empty for none
 * @param maxAge seconds, as sent
 */
record CorsRules(
    Set<String> origins,
    String methods,
    String headers,
    String exposed,
    boolean credentials,
    String maxAge) {

  static CorsRules of(Settings cors) {
    return new CorsRules(
        Set.copyOf(cors.get(EdgeOptions.ORIGINS)),
        String.join(", ", cors.get(EdgeOptions.METHODS)),
        String.join(", ", cors.get(EdgeOptions.HEADERS)),
        String.join(", ", cors.get(EdgeOptions.EXPOSED_HEADERS)),
        cors.get(EdgeOptions.CREDENTIALS),
        Long.toString(cors.get(EdgeOptions.MAX_AGE_S).toSeconds()));
  }

  static boolean isPreflight(HttpServerRequest request) {
    return request.method().equals(HttpMethod.OPTIONS)
        && request.headers().contains(HttpHeaders.ORIGIN)
        && request.headers().contains(HttpHeaders.ACCESS_CONTROL_REQUEST_METHOD);
  }

  /** Sets the headers of a response. */
  void apply(HttpServerRequest request, MultiMap response) {
    boolean any = origins.contains(EdgeOptions.ANY);
    response
        .remove(HttpHeaders.ACCESS_CONTROL_ALLOW_ORIGIN)
        .remove(HttpHeaders.ACCESS_CONTROL_ALLOW_CREDENTIALS);
    if (!any) {
      EdgeRules.addVary(response, "Origin");
    }
    List<String> sent = request.headers().getAll(HttpHeaders.ORIGIN);
    @Nullable String origin = sent.size() == 1 ? sent.get(0) : null;
    if (origin == null || !(any || origins.contains(origin))) {
      return;
    }
    response.set(HttpHeaders.ACCESS_CONTROL_ALLOW_ORIGIN, any ? EdgeOptions.ANY : origin);
    if (credentials) {
      response.set(HttpHeaders.ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
    }
    if (isPreflight(request)) {
      set(response, HttpHeaders.ACCESS_CONTROL_ALLOW_METHODS, methods);
      set(response, HttpHeaders.ACCESS_CONTROL_ALLOW_HEADERS, headers);
      response.set(HttpHeaders.ACCESS_CONTROL_MAX_AGE, maxAge);
    } else {
      set(response, HttpHeaders.ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
  }

  private static void set(MultiMap response, CharSequence name, String value) {
    if (!value.isEmpty()) {
      response.set(name, value);
    }
  }
}
