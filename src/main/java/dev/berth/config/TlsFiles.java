package dev.berth.config;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The {@code ssl_*} keys of {@code http_options}: with them the HTTP server speaks TLS only.
 *
 * @param certificate chain in PEM, the server's own certificate first
 * @param key private key in PEM
 * @param keyPassword of an encrypted key; null when it is not. Never printed
 * @param clientAuthorities certificates in PEM that clients' must be signed by; null asks clients
 *     for none
 */
public record TlsFiles(
    Path certificate, Path key, @Nullable String keyPassword, @Nullable Path clientAuthorities) {

  /** Without the password. */
  @Override
  public String toString() {
    return "TlsFiles[certificate=%s, key=%s, keyPassword=%s, clientAuthorities=%s]"
        .formatted(
            certificate, key, keyPassword == null ? "null" : "(not shown)", clientAuthorities);
  }
}
