package dev.berth.ingress;

import dev.berth.api.Headers;
import dev.berth.metrics.RouteTemplates;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Copies the headers of a handler's response to the client's response. Drops hop-by-hop headers
 * (RFC 9110, 7.6.1), the framing headers, which the ingress sets, and the route template. One
 * instance serves all responses of a loop, so that none allocates a consumer. Confined to the event
 * loop.
 */
final class HopByHop implements BiConsumer<String, String> {
  private MultiMap into = MultiMap.caseInsensitiveMultiMap(); // of the last response
  private @Nullable String notPassed; // further hop-by-hop names, from the Connection header

  void pass(Headers from, MultiMap to) {
    into = to;
    notPassed = from.get("connection");
    from.forEach(this);
  }

  @Override
  public void accept(String name, String value) {
    if (!isDropped(name) && !isNamedBy(notPassed, name)) {
      into.add(nameOf(name), value);
    }
  }

  /**
   * Returns whether a header is always dropped. The length decides for most names, without a
   * comparison.
   */
  static boolean isDropped(String name) {
    return switch (name.length()) {
      case 2 -> name.equalsIgnoreCase("te");
      case 7 -> name.equalsIgnoreCase("upgrade") || name.equalsIgnoreCase("trailer");
      case 8 -> name.equalsIgnoreCase("trailers");
      case 10 -> name.equalsIgnoreCase("connection") || name.equalsIgnoreCase("keep-alive");
      case 13 -> name.equalsIgnoreCase(RouteTemplates.HEADER);
      case 14 -> name.equalsIgnoreCase("content-length");
      case 16 -> name.equalsIgnoreCase("proxy-connection");
      case 17 -> name.equalsIgnoreCase("transfer-encoding");
      default -> false;
    };
  }

  /**
   * Returns the cheapest form of a name. A name that the API itself sets exists as bytes, which are
   * neither hashed nor encoded again.
   */
  private static CharSequence nameOf(String name) {
    if (name.isEmpty()) { // Vert.x would write a line that starts with a colon
      throw new IllegalArgumentException("header name: empty (expected: a token)");
    }
    return name.equals("content-type") ? HttpHeaders.CONTENT_TYPE : name;
  }

  /** Returns whether the response's own {@code Connection} header names this header. */
  static boolean isNamedBy(@Nullable String connection, String name) {
    return connection != null
        && Stream.of(connection.split(",")).anyMatch(each -> each.trim().equalsIgnoreCase(name));
  }
}
