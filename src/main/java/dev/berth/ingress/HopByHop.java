package dev.berth.ingress;

import dev.berth.api.Headers;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Passes the headers of one handler's response after another on to its client, except those that
 * must not reach it as they are: those that mean the connection and not the response (RFC 9110,
 * 7.6.1), and the framing, which the ingress sets. One serves all responses of a loop, so that none
 * allocates a consumer. Confined to its loop.
 */
final class HopByHop implements BiConsumer<String, String> {
  private static final String CONTENT_TYPE = "content-type";

  private MultiMap into = MultiMap.caseInsensitiveMultiMap(); // of the last response
  private @Nullable String notPassed; // names of more headers that are not for the client

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

  /** By length first: it tells most headers apart without reading them. */
  static boolean isDropped(String name) {
    return switch (name.length()) {
      case 2 -> name.equalsIgnoreCase("te");
      case 7 -> name.equalsIgnoreCase("upgrade") || name.equalsIgnoreCase("trailer");
      case 8 -> name.equalsIgnoreCase("trailers");
      case 10 -> name.equalsIgnoreCase("connection") || name.equalsIgnoreCase("keep-alive");
      case 14 -> name.equalsIgnoreCase("content-length");
      case 16 -> name.equalsIgnoreCase("proxy-connection");
      case 17 -> name.equalsIgnoreCase("transfer-encoding");
      default -> false;
    };
  }

  /**
   * The name as it is best written: what the API itself sets is known as bytes already, and is
   * neither hashed nor written letter by letter.
   */
  private static CharSequence nameOf(String name) {
    if (name.isEmpty()) { // Vert.x writes a line that begins with its colon
      throw new IllegalArgumentException("header name: empty (expected: a token)");
    }
    return name.equals(CONTENT_TYPE) ? HttpHeaders.CONTENT_TYPE : name;
  }

  /** Whether the response's own {@code Connection} header names this header too. */
  static boolean isNamedBy(@Nullable String connection, String name) {
    return connection != null
        && Stream.of(connection.split(",")).anyMatch(each -> each.trim().equalsIgnoreCase(name));
  }
}
