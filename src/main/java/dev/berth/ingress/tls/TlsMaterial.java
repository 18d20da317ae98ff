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
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.X509KeyManager;
import org.jspecify.annotations.Nullable;

/**
 * The contents of the {@code ssl_*} files at one moment. Blocks when it reads them. Immutable.
 *
 * @param certificate chain in PEM
 * @param key in PEM, not encrypted
 * @param authorities in PEM, of clients' certificates; null when none are asked for
 * @param digest of all files as they were read
 */
public record TlsMaterial(
    Buffer certificate, Buffer key, @Nullable Buffer authorities, String digest) {
  private static final List<String> KEY_TYPES = List.of("RSA", "EC");

  /** Names no content. */
  @Override
  public String toString() {
    return "TlsMaterial[" + digest + "]";
  }

  /** Tells contents apart. */
  static String digestOf(Settings files) {
    return digest(
        bytes("ssl_certfile", files.get(HttpOptions.SSL_CERTFILE)),
        bytes("ssl_keyfile", files.get(HttpOptions.SSL_KEYFILE)),
        authoritiesOf(files));
  }

  /**
   * Reads the files.
   *
   * @throws TlsFileException when one cannot be read or used, or the key is not the certificate's
   */
  static TlsMaterial read(Settings files) {
    byte[] certificate = bytes("ssl_certfile", files.get(HttpOptions.SSL_CERTFILE));
    byte[] key = bytes("ssl_keyfile", files.get(HttpOptions.SSL_KEYFILE));
    byte[] authorities = authoritiesOf(files);
    certificates("ssl_certfile", files.get(HttpOptions.SSL_CERTFILE), certificate);
    if (authorities != null) {
      certificates("ssl_ca_certs", files.find(HttpOptions.SSL_CA_CERTS), authorities);
    }
    return new TlsMaterial(
        Buffer.buffer(certificate),
        Buffer.buffer(
            PemKey.opened(
                files.get(HttpOptions.SSL_KEYFILE),
                new String(key, StandardCharsets.ISO_8859_1),
                files.find(HttpOptions.SSL_KEYFILE_PASSWORD))),
        authorities == null ? null : Buffer.buffer(authorities),
        digest(certificate, key, authorities));
  }

  /**
   * Checks that the key is the certificate's, as the server would use them.
   *
   * @return the server's certificate
   */
  X509Certificate check(Settings files, Vertx vertx) {
    X509KeyManager pair = keyManager(files, vertx);
    String alias = aliasIn(pair);
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
          files.get(HttpOptions.SSL_KEYFILE)
              + ", which is not the key of "
              + files.get(HttpOptions.SSL_CERTFILE),
          "the key of ssl_certfile");
    }
    return own;
  }

  private X509KeyManager keyManager(Settings files, Vertx vertx) {
    try {
      for (KeyManager each : keyCertOptions().getKeyManagerFactory(vertx).getKeyManagers()) {
        if (each instanceof X509KeyManager pair) {
          return pair;
        }
      }
      throw new IllegalStateException("key managers: none for X.509 (expected: one)");
    } catch (Exception unusable) {
      throw new TlsFileException(
          "ssl_keyfile",
          files.get(HttpOptions.SSL_KEYFILE) + ", " + unusable.getMessage(),
          "an RSA or EC key in PEM");
    }
  }

  private static @Nullable String aliasIn(X509KeyManager pair) {
    for (String type : KEY_TYPES) {
      String[] aliases = pair.getServerAliases(type, null);
      if (aliases != null && aliases.length > 0) {
        return aliases[0];
      }
    }
    return null;
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

  private static byte @Nullable [] authoritiesOf(Settings files) {
    Path path = files.find(HttpOptions.SSL_CA_CERTS);
    return path == null ? null : bytes("ssl_ca_certs", path);
  }

  private static byte[] bytes(String key, Path path) {
    try {
      return Files.readAllBytes(path);
    } catch (IOException unreadable) {
      throw new TlsFileException(
          key, path + ", which cannot be read: " + unreadable.getMessage(), "a readable file");
    }
  }

  private static void certificates(String key, @Nullable Path path, byte[] pem) {
    try {
      if (CertificateFactory.getInstance("X.509")
          .generateCertificates(new ByteArrayInputStream(pem))
          .isEmpty()) {
        throw new CertificateException("there is none in it");
      }
    } catch (CertificateException unusable) {
      throw new TlsFileException(
          key, path + ", " + unusable.getMessage(), "X.509 certificates in PEM");
    }
  }

  private static String digest(byte[] certificate, byte[] key, byte @Nullable [] authorities) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      for (byte[] each : new byte[][] {certificate, key, authorities}) {
        if (each != null) {
          digest.update((each.length + ":").getBytes(StandardCharsets.ISO_8859_1));
          digest.update(each);
        }
      }
      return HexFormat.of().formatHex(digest.digest());
    } catch (GeneralSecurityException everyJvmHasIt) {
      throw new IllegalStateException(everyJvmHasIt);
    }
  }
}
