package dev.berth.admin;

import dev.berth.protocol.port.Endpoint;
import io.vertx.core.Future;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Tells clients by the secret they show in {@code Authorization: Bearer}, before an endpoint is
 * asked. One that shows a wrong secret is refused wherever it asks.
 */
public final class BearerTokens implements Endpoint {
  private static final String SCHEME = "bearer ";

  private final Map<String, byte[]> digests = new LinkedHashMap<>(); // by name
  private final boolean required;
  private final Endpoint behind;

  /**
   * @param secrets by the names of the clients
   * @param required whether a client must be known, by this or by its certificate
   */
  public BearerTokens(Map<String, String> secrets, boolean required, Endpoint behind) {
    secrets.forEach((name, secret) -> digests.put(name, digest(secret)));
    this.required = required;
    this.behind = behind;
  }

  @Override
  public boolean answers(String path) {
    return behind.answers(path);
  }

  @Override
  public Exchange handle(Asked request) {
    List<String> shown = request.headers().all("Authorization");
    if (shown.isEmpty()) {
      return required && request.client() == null ? refused() : behind.handle(request);
    }
    String name = shown.size() == 1 ? clientOf(shown.get(0)) : null;
    return name == null ? refused() : behind.handle(request.by("token " + name));
  }

  /** Every secret is compared, and each in the same time, so that time tells nothing of them. */
  private @Nullable String clientOf(String authorization) {
    if (!authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())) {
      return null;
    }
    byte[] given = digest(authorization.substring(SCHEME.length()).strip());
    String found = null;
    for (Map.Entry<String, byte[]> each : digests.entrySet()) {
      if (MessageDigest.isEqual(each.getValue(), given)) {
        found = each.getKey();
      }
    }
    return found;
  }

  private static byte[] digest(String secret) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(secret.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException impossible) { // every JDK has it
      throw new IllegalStateException(impossible);
    }
  }

  private static Exchange refused() {
    Answer answer =
        ReservationProblems.error(
            401,
            "unauthorized",
            "Authorization: none that is known (expected: Bearer, and a configured token)",
            "Nothing was done.",
            Map.of("WWW-Authenticate", "Bearer"));
    return new Exchange() {
      @Override
      public Future<Answer> answer() {
        return Future.succeededFuture(answer);
      }

      @Override
      public void clientGone() {}
    };
  }
}
