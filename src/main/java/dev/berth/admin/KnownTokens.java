package dev.berth.admin;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Whose secret an {@code Authorization: Bearer} header shows. Of the secrets it keeps digests only.
 */
final class KnownTokens {
  private static final String SCHEME = "bearer ";

  private final Map<String, byte[]> digests = new LinkedHashMap<>(); // by name

  /**
   * @param secrets by the names of the clients
   */
  KnownTokens(Map<String, String> secrets) {
    secrets.forEach((name, secret) -> digests.put(name, digest(secret)));
  }

  boolean isEmpty() {
    return digests.isEmpty();
  }

  /**
   * Every secret is compared, and each in the same time, so that time tells nothing of them.
   *
   * @return the name; null when it is no known secret
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
    return DigestedFile.sha256().digest(secret.getBytes(StandardCharsets.UTF_8));
  }
}
