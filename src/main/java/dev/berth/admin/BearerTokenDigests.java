package dev.berth.admin;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Identifies the client by the secret of an {@code Authorization: Bearer} header. Stores only
 * digests of the secrets.
 */
final class BearerTokenDigests {
  private static final String SCHEME = "bearer ";

  private final Map<String, byte[]> digests = new LinkedHashMap<>(); // by name

  /**
   * @param secrets secrets by client name
   */
  BearerTokenDigests(Map<String, String> secrets) {
    secrets.forEach((name, secret) -> digests.put(name, digest(secret)));
  }

  boolean isEmpty() {
    return digests.isEmpty();
  }

  /**
   * Finds the client of a secret. Every secret is compared, each in the same time, so that the time
   * reveals nothing about them.
   *
   * @return the client's name; null for an unknown secret
   */
  @Nullable String nameOf(String authorization) {
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
    return DigestingFileWriter.sha256().digest(secret.getBytes(StandardCharsets.UTF_8));
  }
}
