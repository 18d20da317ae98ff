package dev.berth.net.tls;

import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What of TLS lies in files.
 *
 * @param certificate its chain
 * @param authorities of the other side's certificates; null when none are asked for
 */
public record TlsFiles(PemFile certificate, PemFile key, @Nullable PemFile authorities) {

  /**
   * What they hold now.
   *
   * @throws TlsFileException when they cannot be used
   */
  public TlsMaterial read() {
    return TlsMaterial.of(this, contents());
  }

  /**
   * Reads the certificate, the key, and the authorities where there are any.
   *
   * @throws TlsFileException when one cannot be read
   */
  List<Buffer> contents() {
    List<Buffer> contents = new ArrayList<>(List.of(certificate.read(), key.read()));
    if (authorities != null) {
      contents.add(authorities.read());
    }
    return contents;
  }
}
