package dev.berth.net.tls;

import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Files of a TLS endpoint.
 *
 * @param certificate its chain
 * @param authorities of the peer's certificates; null if peers need none
 */
public record TlsFiles(PemFile certificate, PemFile key, @Nullable PemFile authorities) {

  /**
   * Reads the current contents.
   *
   * @throws TlsFileException if they are unusable
   */
  public TlsMaterial read() {
    return TlsMaterial.of(this, contents());
  }

  /**
   * Reads the certificate, the key, and the authorities if configured.
   *
   * @throws TlsFileException if one is unreadable
   */
  List<Buffer> contents() {
    List<Buffer> contents = new ArrayList<>(List.of(certificate.read(), key.read()));
    if (authorities != null) {
      contents.add(authorities.read());
    }
    return contents;
  }
}
