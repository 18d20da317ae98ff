package dev.berth.protocol.tls;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Private keys in PEM, and the encrypted ones among them (PKCS#8, RFC 5958 and 8018). */
final class PemKey {
  private static final Pattern ENCRYPTED =
      Pattern.compile(
          "-----BEGIN ENCRYPTED PRIVATE KEY-----(.+?)-----END ENCRYPTED PRIVATE KEY-----",
          Pattern.DOTALL);
  private static final Pattern PLAIN = Pattern.compile("-----BEGIN (RSA |EC )?PRIVATE KEY-----");
  private static final String OLD_ENCRYPTION = "Proc-Type: 4,ENCRYPTED";

  private PemKey() {}

  /**
   * The key, not encrypted.
   *
   * @throws TlsFileException when there is none, or the password does not open it
   */
  static String opened(TlsFiles files, String pem) {
    PemFile file = files.key();
    Matcher encrypted = ENCRYPTED.matcher(pem);
    if (!encrypted.find()) {
      if (pem.contains(OLD_ENCRYPTION)) {
        throw file.refused(
            ", encrypted in the form that OpenSSL had before PKCS#8",
            "BEGIN ENCRYPTED PRIVATE KEY, as openssl pkcs8 -topk8 writes it");
      }
      if (!PLAIN.matcher(pem).find()) {
        throw file.refused(", without a private key in it", "a private key in PEM");
      }
      return pem;
    }
    String password = files.password();
    if (password == null) {
      throw new TlsFileException(
          file.section(),
          files.passwordKey(),
          "missing",
          "the password of " + file.path() + ", which is encrypted");
    }
    try {
      byte[] der = Base64.getMimeDecoder().decode(encrypted.group(1));
      return pem(EncryptedKey.open(der, password));
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

  private static String pem(byte[] pkcs8) {
    return "-----BEGIN PRIVATE KEY-----\n"
        + Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII)).encodeToString(pkcs8)
        + "\n-----END PRIVATE KEY-----\n";
  }
}
