package dev.berth.admin;

import dev.berth.protocol.port.Endpoint;
import dev.berth.protocol.port.HttpErrorResponse;
import io.vertx.core.Future;
import java.util.List;
import java.util.Map;

/**
 * Authenticates clients by the secret in {@code Authorization: Bearer}, in front of an endpoint. A
 * request with a wrong secret is refused on every path.
 */
public record BearerTokens(BearerTokenDigests known, boolean required, Endpoint behind)
    implements Endpoint {
  /**
   * @param secrets secrets by client name
   * @param required whether a client must be authenticated, by a secret or by its certificate
   */
  public BearerTokens(Map<String, String> secrets, boolean required, Endpoint behind) {
    this(new BearerTokenDigests(secrets), required, behind);
  }

  @Override
  public boolean answers(String path) {
    return behind.answers(path);
  }

  @Override
  public List<String> paths() {
    return behind.paths();
  }

  @Override
  public EndpointCall handle(EndpointRequest request) {
    List<String> shown = request.headers().all("Authorization");
    if (shown.isEmpty()) {
      return required && request.client() == null ? unauthorized() : behind.handle(request);
    }
    String name = shown.size() == 1 ? known.nameOf(shown.get(0)) : null;
    return name == null ? unauthorized() : behind.handle(request.by("token " + name));
  }

  private static EndpointCall unauthorized() {
    String why = "Authorization: no known token (expected: Bearer, and a configured token)";
    HttpErrorResponse told =
        new HttpErrorResponse(401, "unauthorized", why, "Nothing was executed.");
    EndpointResponse answer = ReservationProblems.error(told, Map.of("WWW-Authenticate", "Bearer"));
    return () -> Future.succeededFuture(answer);
  }
}
