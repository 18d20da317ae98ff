package dev.berth.protocol.tls;

import io.vertx.core.buffer.Buffer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;

/**
 * A file in PEM.
 *
 * @param section of the key, for messages
 * @param key that names the file
 */
public record PemFile(String section, String key, Path path) {
  Buffer read() {
    try {
      return Buffer.buffer(Files.readAllBytes(path));
    } catch (IOException unreadable) {
      throw refused(", which cannot be read: " + unreadable.getMessage(), "a readable file");
    }
  }

  void requireCertificates(Buffer pem) {
    try {
      if (CertificateFactory.getInstance("X.509")
          .generateCertificates(new ByteArrayInputStream(pem.getBytes()))
          .isEmpty()) {
        throw new CertificateException("there is none in it");
      }
    } catch (CertificateException unusable) {
      throw refused(", " + unusable.getMessage(), "X.509 certificates in PEM");
    }
  }

  TlsFileException refused(String what, String expected) {
    return new TlsFileException(section, key, path + what, expected);
  }
}
