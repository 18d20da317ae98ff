package dev.berth.net.tls;

import io.vertx.core.net.impl.pkcs1.PrivateKeyParser;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reader of private keys in PEM format. Refuses an encrypted key with the command that decrypts it.
 */
final class PemKey {
  private static final Pattern KEY =
      Pattern.compile(
          "-----BEGIN ((?:RSA |EC )?PRIVATE KEY)-----(.+?)-----END \\1-----", Pattern.DOTALL);

  /** Marks of encrypted PKCS#8 keys and of OpenSSL's earlier format. */
  private static final Pattern ENCRYPTED =
      Pattern.compile("BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: *4, *ENCRYPTED");

  private PemKey() {}

  /**
   * Reads the first private key.
   *
   * @throws TlsFileException if there is none, or it is unusable
   */
  static PrivateKey read(PemFile file, String pem) {
    if (ENCRYPTED.matcher(pem).find()) {
      throw file.toException(
          ", an encrypted key",
          "one without a password, as made by: openssl pkcs8 -topk8 -nocrypt -in "
              + file.path()
              + " -out plain.pem");
    }
    Matcher found = KEY.matcher(pem);
    if (!found.find()) {
      throw file.toException(", without a private key in it", "a private key in PEM");
    }
    try {
      byte[] key = Base64.getMimeDecoder().decode(found.group(2));
      return switch (found.group(1)) {
        case "RSA PRIVATE KEY" ->
            KeyFactory.getInstance("RSA").generatePrivate(PrivateKeyParser.getRSAKeySpec(key));
        case "EC PRIVATE KEY" ->
            KeyFactory.getInstance("EC").generatePrivate(PrivateKeyParser.getECKeySpec(key));
        default ->
            KeyFactory.getInstance(PrivateKeyParser.getPKCS8EncodedKeyAlgorithm(key))
                .generatePrivate(new PKCS8EncodedKeySpec(key));
      };
    } catch (GeneralSecurityException | RuntimeException unusable) {
      throw file.toException(", " + unusable.getMessage(), "an RSA or EC key in PEM");
    }
  }
}
