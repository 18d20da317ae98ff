package dev.berth.ingress.split;

import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.routing.traffic.RequestHead;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.Cookie;
import io.vertx.core.http.HttpServerRequest;
import org.jspecify.annotations.Nullable;

/** Parts of a received request that a traffic policy reads. */
public record ReceivedHead(HttpServerRequest http) implements RequestHead {

  @Override
  public @Nullable String get(RequestPartKind part, String name) {
    return switch (part) {
      case HEADER -> http.getHeader(name);
      case COOKIE -> cookie(name);
      case QUERY -> query().queryParameter(name);
      case PATH -> RequestHead.segment(http.path(), Integer.parseInt(name));
      case METHOD -> http.method().name();
    };
  }

  /** Returns the request as its handler reads it. Vert.x would throw on unescaped characters. */
  private Request query() {
    return Request.of("GET", "/", http.query(), Headers.empty(), Buffer.buffer());
  }

  private @Nullable String cookie(String name) {
    Cookie found = http.getCookie(name);
    return found == null ? null : found.getValue();
  }
}
