package dev.berth.net.tls;

import io.vertx.core.buffer.Buffer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;

/**
 * A file in PEM format.
 *
 * @param section of the key, for messages
 * @param key configuration key that names the file
 */
public record PemFile(String section, String key, Path path) {
  Buffer read() {
    try {
      return Buffer.buffer(Files.readAllBytes(path));
    } catch (IOException unreadable) {
      throw toException(", which cannot be read: " + unreadable.getMessage(), "a readable file");
    }
  }

  /**
   * Reads all certificates in file order.
   *
   * @throws TlsFileException if the file is unusable
   */
  public X509Certificate[] certificates() {
    return certificates(read());
  }

  /** Returns all certificates in file order. */
  X509Certificate[] certificates(Buffer pem) {
    try {
      X509Certificate[] all =
          CertificateFactory.getInstance("X.509")
              .generateCertificates(new ByteArrayInputStream(pem.getBytes()))
              .toArray(new X509Certificate[0]);
      if (all.length == 0) {
        throw new CertificateException("it contains none");
      }
      return all;
    } catch (CertificateException unusable) {
      throw toException(", " + unusable.getMessage(), "X.509 certificates in PEM");
    }
  }

  TlsFileException toException(String what, String expected) {
    return new TlsFileException(section + "." + key, path + what, expected);
  }
}
