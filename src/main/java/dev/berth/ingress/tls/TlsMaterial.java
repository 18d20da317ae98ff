package dev.berth.ingress.tls;

import dev.berth.config.HttpOptions;
import dev.berth.config.keys.Settings;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.core.net.ServerSSLOptions;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.LinkedHashSet;
import java.util.List;
import javax.net.ssl.X509KeyManager;
import org.jspecify.annotations.Nullable;

/**
 * The contents of the {@code ssl_*} files at one moment. Blocks when it reads them. Immutable.
 *
 * @param certificate chain in PEM
 * @param key in PEM, not encrypted
 * @param authorities in PEM, of clients' certificates; null when none are asked for
 * @param files as they were read
 */
record TlsMaterial(
    Buffer certificate, Buffer key, @Nullable Buffer authorities, List<Buffer> files) {

  /** Names no content. */
  @Override
  public String toString() {
    return "TlsMaterial";
  }

  /**
   * Reads the files: the certificate, the key, and the authorities where clients need them.
   *
   * @throws TlsFileException when one cannot be read
   */
  static List<Buffer> contents(Settings files) {
    Buffer certificate = read("ssl_certfile", files.get(HttpOptions.SSL_CERTFILE));
    Buffer key = read("ssl_keyfile", files.get(HttpOptions.SSL_KEYFILE));
    Path authorities = files.find(HttpOptions.SSL_CA_CERTS);
    return authorities == null
        ? List.of(certificate, key)
        : List.of(certificate, key, read("ssl_ca_certs", authorities));
  }

  /**
   * What was read.
   *
   * @throws TlsFileException when it cannot be used
   */
  static TlsMaterial of(Settings files, List<Buffer> contents) {
    Buffer authorities = contents.size() > 2 ? contents.get(2) : null;
    certificates("ssl_certfile", files.get(HttpOptions.SSL_CERTFILE), contents.get(0));
    if (authorities != null) {
      certificates("ssl_ca_certs", files.find(HttpOptions.SSL_CA_CERTS), authorities);
    }
    String key =
        PemKey.opened(
            files.get(HttpOptions.SSL_KEYFILE),
            contents.get(1).toString(StandardCharsets.ISO_8859_1),
            files.find(HttpOptions.SSL_KEYFILE_PASSWORD));
    return new TlsMaterial(contents.get(0), Buffer.buffer(key), authorities, contents);
  }

  /**
   * Checks that the key is the certificate's, as the server would use them.
   *
   * @return the server's certificate
   */
  X509Certificate check(Settings files, Vertx vertx) {
    X509KeyManager pair = keyManager(files, vertx);
    String rsa = pair.chooseServerAlias("RSA", null, null);
    String alias = rsa == null ? pair.chooseServerAlias("EC", null, null) : rsa;
    if (alias == null) {
      throw new TlsFileException(
          "ssl_keyfile",
          files.get(HttpOptions.SSL_KEYFILE) + ", of an unknown kind",
          "an RSA or EC key");
    }
    X509Certificate own = pair.getCertificateChain(alias)[0];
    if (!match(pair.getPrivateKey(alias), own.getPublicKey())) {
      throw new TlsFileException(
          "ssl_keyfile",
          "%s, which is not the key of %s"
              .formatted(files.get(HttpOptions.SSL_KEYFILE), files.get(HttpOptions.SSL_CERTFILE)),
          "the key of ssl_certfile");
    }
    return own;
  }

  private X509KeyManager keyManager(Settings files, Vertx vertx) {
    try {
      return (X509KeyManager) keyCertOptions().getKeyManagerFactory(vertx).getKeyManagers()[0];
    } catch (Exception unusable) {
      throw new TlsFileException(
          "ssl_keyfile",
          files.get(HttpOptions.SSL_KEYFILE) + ", " + unusable.getMessage(),
          "an RSA or EC key in PEM");
    }
  }

  /** Whether what the one signs the other verifies. */
  private static boolean match(PrivateKey key, PublicKey certified) {
    String algorithm =
        switch (key.getAlgorithm()) {
          case "RSA" -> "SHA256withRSA";
          case "EC" -> "SHA256withECDSA";
          default -> null; // not worth refusing a pair for
        };
    if (algorithm == null) {
      return true;
    }
    try {
      byte[] text = {1, 2, 3};
      Signature signer = Signature.getInstance(algorithm);
      signer.initSign(key);
      signer.update(text);
      byte[] signature = signer.sign();
      Signature verifier = Signature.getInstance(algorithm);
      verifier.initVerify(certified);
      verifier.update(text);
      return verifier.verify(signature);
    } catch (GeneralSecurityException another) {
      return false; // keys of two kinds
    }
  }

  private PemKeyCertOptions keyCertOptions() {
    return new PemKeyCertOptions().addCertValue(certificate).addKeyValue(key);
  }

  /** Sets up a server: TLS 1.3 and 1.2, and a client's certificate if authorities are given. */
  <T extends ServerSSLOptions> T applyTo(T options) {
    options.setKeyCertOptions(keyCertOptions());
    options.setEnabledSecureTransportProtocols(new LinkedHashSet<>(List.of("TLSv1.3", "TLSv1.2")));
    if (authorities != null) {
      options.setTrustOptions(new PemTrustOptions().addCertValue(authorities));
      options.setClientAuth(ClientAuth.REQUIRED);
    }
    return options;
  }

  // --- files ---

  private static Buffer read(String key, Path path) {
    try {
      return Buffer.buffer(Files.readAllBytes(path));
    } catch (IOException unreadable) {
      throw new TlsFileException(
          key, path + ", which cannot be read: " + unreadable.getMessage(), "a readable file");
    }
  }

  private static void certificates(String key, @Nullable Path path, Buffer pem) {
    try {
      if (CertificateFactory.getInstance("X.509")
          .generateCertificates(new ByteArrayInputStream(pem.getBytes()))
          .isEmpty()) {
        throw new CertificateException("there is none in it");
      }
    } catch (CertificateException unusable) {
      throw new TlsFileException(
          key, path + ", " + unusable.getMessage(), "X.509 certificates in PEM");
    }
  }
}
