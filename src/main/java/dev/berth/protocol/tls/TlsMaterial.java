package dev.berth.protocol.tls;

import io.netty.handler.ssl.OpenSsl;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.net.JdkSSLEngineOptions;
import io.vertx.core.net.OpenSSLEngineOptions;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.core.net.SSLEngineOptions;
import io.vertx.core.net.SSLOptions;
import io.vertx.core.net.ServerSSLOptions;
import io.vertx.core.net.impl.KeyStoreHelper;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.X509Certificate;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The contents of {@link TlsFiles} at one moment. Immutable.
 *
 * @param certificate chain in PEM
 * @param key in PEM, not encrypted
 * @param authorities in PEM, of the other side's certificates; null when none are asked for
 * @param own the first of the chain
 * @param files as they were read
 */
public record TlsMaterial(
    Buffer certificate,
    Buffer key,
    @Nullable Buffer authorities,
    X509Certificate own,
    List<Buffer> files) {

  /** Names no content. */
  @Override
  public String toString() {
    return "TlsMaterial";
  }

  /**
   * What was read.
   *
   * @throws TlsFileException when it cannot be used, or the key is not the certificate's
   */
  static TlsMaterial of(TlsFiles files, List<Buffer> contents) {
    Buffer certificate = contents.get(0);
    files.certificate().requireCertificates(certificate);
    Buffer authorities = null;
    if (files.authorities() != null) {
      authorities = contents.get(2);
      files.authorities().requireCertificates(authorities);
    }
    String pem = contents.get(1).toString(StandardCharsets.ISO_8859_1);
    Buffer key = Buffer.buffer(PemKey.opened(files, pem));
    return new TlsMaterial(certificate, key, authorities, own(files, certificate, key), contents);
  }

  private static X509Certificate own(TlsFiles files, Buffer certificate, Buffer key) {
    X509Certificate own;
    PrivateKey secret;
    try {
      KeyStore pair = KeyStoreHelper.loadKeyCert(List.of(key), List.of(certificate));
      String alias = pair.aliases().nextElement();
      own = (X509Certificate) pair.getCertificate(alias);
      secret = (PrivateKey) pair.getKey(alias, KeyStoreHelper.DUMMY_PASSWORD.toCharArray());
    } catch (Exception unusable) {
      throw files.key().refused(", " + unusable.getMessage(), "an RSA or EC key in PEM");
    }
    if (!match(secret, own.getPublicKey())) {
      throw files
          .key()
          .refused(
              ", which is not the key of " + files.certificate().path(),
              "the key of " + files.certificate().key());
    }
    return own;
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

  /** BoringSSL where its library loads, else the JDK's. */
  public static SSLEngineOptions engine() {
    return OpenSsl.isAvailable() ? new OpenSSLEngineOptions() : new JdkSSLEngineOptions();
  }

  /** Sets up one side. */
  public <T extends SSLOptions> T applyTo(T options) {
    options.setKeyCertOptions(new PemKeyCertOptions().addCertValue(certificate).addKeyValue(key));
    if (authorities != null) {
      options.setTrustOptions(new PemTrustOptions().addCertValue(authorities));
      if (options instanceof ServerSSLOptions server) {
        server.setClientAuth(ClientAuth.REQUIRED);
      }
    }
    return options;
  }
}
