package dev.berth.protocol.tls;

import io.vertx.core.net.impl.pkcs1.PrivateKeyParser;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.NoSuchAlgorithmException;
import java.security.PrivateKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Private keys in PEM, and the encrypted ones among them (PKCS#8, RFC 5958 and 8018). */
final class PemKey {
  private static final Pattern KEY =
      Pattern.compile(
          "-----BEGIN ((?:RSA |EC |ENCRYPTED )?PRIVATE KEY)-----(.+?)-----END \\1-----",
          Pattern.DOTALL);
  private static final String OLD_ENCRYPTION = "Proc-Type: 4,ENCRYPTED";

  private PemKey() {}

  /**
   * The key.
   *
   * @throws TlsFileException when there is none, or it cannot be used
   */
  static PrivateKey read(TlsFiles files, String pem) {
    PemFile file = files.key();
    if (pem.contains(OLD_ENCRYPTION)) {
      throw file.refused(
          ", encrypted in the form that OpenSSL had before PKCS#8",
          "BEGIN ENCRYPTED PRIVATE KEY, as openssl pkcs8 -topk8 writes it");
    }
    Matcher found = KEY.matcher(pem);
    if (!found.find()) {
      throw file.refused(", without a private key in it", "a private key in PEM");
    }
    String base64 = found.group(2);
    try {
      byte[] plain =
          found.group(1).startsWith("ENCRYPTED")
              ? opened(files, base64)
              : Base64.getMimeDecoder().decode(base64);
      return switch (found.group(1)) {
        case "RSA PRIVATE KEY" ->
            KeyFactory.getInstance("RSA").generatePrivate(PrivateKeyParser.getRSAKeySpec(plain));
        case "EC PRIVATE KEY" ->
            KeyFactory.getInstance("EC").generatePrivate(PrivateKeyParser.getECKeySpec(plain));
        default ->
            KeyFactory.getInstance(PrivateKeyParser.getPKCS8EncodedKeyAlgorithm(plain))
                .generatePrivate(new PKCS8EncodedKeySpec(plain));
      };
    } catch (TlsFileException unopened) {
      throw unopened;
    } catch (GeneralSecurityException | RuntimeException unusable) {
      throw file.refused(", " + unusable.getMessage(), "an RSA or EC key in PEM");
    }
  }

  private static byte[] opened(TlsFiles files, String base64) {
    PemFile file = files.key();
    String password = files.password();
    if (password == null) {
      throw new TlsFileException(
          file.section(),
          files.passwordKey(),
          "missing",
          "the password of " + file.path() + ", which is encrypted");
    }
    try {
      return EncryptedKey.open(Base64.getMimeDecoder().decode(base64), password);
    } catch (NoSuchAlgorithmException unknown) {
      throw file.refused(
          ", encrypted by what is not known here: " + unknown.getMessage(),
          "PBKDF2 with AES, as openssl pkcs8 -topk8 writes it");
    } catch (GeneralSecurityException | IOException | RuntimeException unopened) {
      throw new TlsFileException(
          file.section(),
          files.passwordKey(),
          "does not open " + file.path(),
          "the password of " + file.key());
    }
  }
}
