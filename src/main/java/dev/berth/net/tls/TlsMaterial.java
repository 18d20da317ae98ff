package dev.berth.net.tls;

import io.netty.handler.ssl.OpenSsl;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.net.JdkSSLEngineOptions;
import io.vertx.core.net.KeyCertOptions;
import io.vertx.core.net.OpenSSLEngineOptions;
import io.vertx.core.net.SSLEngineOptions;
import io.vertx.core.net.SSLOptions;
import io.vertx.core.net.ServerSSLOptions;
import io.vertx.core.net.TrustOptions;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * The contents of {@link TlsFiles} at one moment. Immutable.
 *
 * @param keys the certificate's chain and its key, for all who are set up with it
 * @param authorities of the other side's certificates; null when none are asked for
 * @param own the first of the chain
 * @param files as they were read
 */
public record TlsMaterial(
    KeyManagerFactory keys,
    @Nullable TrustManagerFactory authorities,
    X509Certificate own,
    List<Buffer> files) {
  private static final char[] NO_SECRET = "in memory alone".toCharArray();

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
    X509Certificate[] chain = files.certificate().certificates(contents.get(0));
    PrivateKey key =
        PemKey.read(files.key(), contents.get(1).toString(StandardCharsets.ISO_8859_1));
    if (!match(key, chain[0].getPublicKey())) {
      throw files
          .key()
          .refused(
              ", which is not the key of " + files.certificate().path(),
              "the key of " + files.certificate().key());
    }
    try {
      return new TlsMaterial(
          keys(key, chain),
          files.authorities() == null
              ? null
              : trusting(files.authorities().certificates(contents.get(2))),
          chain[0],
          contents);
    } catch (GeneralSecurityException | IOException broken) {
      throw new IllegalStateException("keys: not stored (expected: in memory)", broken);
    }
  }

  /**
   * Made once: what Vert.x makes of PEM for each server and client is a store of PKCS #12, into and
   * out of which a key goes five times behind 10 000 rounds of a hash. That was a second of CPU in
   * the start of a node. A JKS store has one round.
   */
  private static KeyManagerFactory keys(PrivateKey key, X509Certificate[] chain)
      throws GeneralSecurityException, IOException {
    KeyStore store = emptyStore();
    store.setKeyEntry("own", key, NO_SECRET, chain);
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(store, NO_SECRET);
    return keys;
  }

  private static TrustManagerFactory trusting(X509Certificate[] authorities)
      throws GeneralSecurityException, IOException {
    KeyStore store = emptyStore();
    for (int each = 0; each < authorities.length; each++) {
      store.setCertificateEntry("authority " + each, authorities[each]);
    }
    TrustManagerFactory trusting =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trusting.init(store);
    return trusting;
  }

  private static KeyStore emptyStore() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance("JKS");
    store.load(null, null);
    return store;
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
    options.setKeyCertOptions(KeyCertOptions.wrap(keys));
    if (authorities != null) {
      options.setTrustOptions(TrustOptions.wrap(authorities));
      if (options instanceof ServerSSLOptions server) {
        server.setClientAuth(ClientAuth.REQUIRED);
      }
    }
    return options;
  }
}
