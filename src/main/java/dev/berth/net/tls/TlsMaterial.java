package dev.berth.net.tls;

import io.netty.handler.ssl.OpenSsl;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.net.JdkSSLEngineOptions;
import io.vertx.core.net.KeyCertOptions;
import io.vertx.core.net.OpenSSLEngineOptions;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
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
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * Contents of {@link TlsFiles} at one moment. Immutable.
 *
 * @param keys certificate chain and key, shared by all endpoints that use this material
 * @param authorities of the peer's certificates; null if peers need none
 * @param own first certificate of the chain
 * @param files raw contents
 */
public record TlsMaterial(
    KeyManagerFactory keys,
    @Nullable TrustManagerFactory authorities,
    X509Certificate own,
    List<Buffer> files) {
  private static final char[] NO_SECRET = "in memory alone".toCharArray();

  /** Returns a text without contents, so that no key reaches a log. */
  @Override
  public String toString() {
    return "TlsMaterial";
  }

  /**
   * Creates the material from raw contents.
   *
   * @throws TlsFileException if they are unusable, or the key does not belong to the certificate
   */
  static TlsMaterial of(TlsFiles files, List<Buffer> contents) {
    X509Certificate[] chain = files.certificate().certificates(contents.get(0));
    PrivateKey key =
        PemKey.read(files.key(), contents.get(1).toString(StandardCharsets.ISO_8859_1));
    if (!match(key, chain[0].getPublicKey())) {
      throw files
          .key()
          .toException(
              ", which is not the key of " + files.certificate().path(),
              "the key of " + files.certificate().key());
    }
    try {
      return new TlsMaterial(
          keys(key, chain),
          files.authorities() == null
              ? null
              : managers(files.authorities().certificates(contents.get(2))),
          chain[0],
          contents);
    } catch (GeneralSecurityException | IOException broken) {
      throw notStored(broken);
    }
  }

  /**
   * Creates the key store once. For each server and client, Vert.x would convert PEM to a PKCS #12
   * store. There a key passes five times through 10 000 rounds of a hash, which took a second of
   * CPU at node start. A JKS store uses one round.
   */
  private static KeyManagerFactory keys(PrivateKey key, X509Certificate[] chain)
      throws GeneralSecurityException, IOException {
    KeyStore store = emptyStore();
    store.setKeyEntry("own", key, NO_SECRET, chain);
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(store, NO_SECRET);
    return keys;
  }

  private static TrustManagerFactory managers(X509Certificate[] authorities)
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

  /** Returns whether the public key verifies signatures of the private key. */
  private static boolean match(PrivateKey key, PublicKey certified) {
    String algorithm =
        switch (key.getAlgorithm()) {
          case "RSA" -> "SHA256withRSA";
          case "EC" -> "SHA256withECDSA";
          default -> null; // unknown algorithm: not a reason to refuse
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
      return false; // keys of different algorithms
    }
  }

  /** Returns the trust of a client that accepts this server's own certificate, and no other. */
  public TrustOptions pinned() {
    try {
      return TrustOptions.wrap(managers(new X509Certificate[] {own}));
    } catch (GeneralSecurityException | IOException broken) {
      throw notStored(broken);
    }
  }

  /** Returns the sockets of a client that accepts servers of these authorities only. */
  public static SSLSocketFactory trusting(X509Certificate[] authorities) {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, managers(authorities).getTrustManagers(), null);
      return context.getSocketFactory();
    } catch (GeneralSecurityException | IOException broken) {
      throw notStored(broken);
    }
  }

  private static IllegalStateException notStored(Exception broken) {
    return new IllegalStateException("keys: not stored (expected: in memory)", broken);
  }

  /** Returns BoringSSL if its library loads, else the JDK's engine. */
  public static SSLEngineOptions engine() {
    return OpenSsl.isAvailable() ? new OpenSSLEngineOptions() : new JdkSSLEngineOptions();
  }

  /** Returns the certificate chain and the key as PEM, for options that are copied as JSON. */
  public PemKeyCertOptions keyPem() {
    return new PemKeyCertOptions().addCertValue(files.get(0)).addKeyValue(files.get(1));
  }

  /** Returns the authorities as PEM; there must be some. */
  public PemTrustOptions authoritiesPem() {
    return new PemTrustOptions().addCertValue(files.get(2));
  }

  /** Configures a server or client. */
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
