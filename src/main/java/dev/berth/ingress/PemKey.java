package dev.berth.ingress;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.EncryptedPrivateKeyInfo;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import org.jspecify.annotations.Nullable;

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
   * @param path for messages
   * @throws TlsFileException when there is none, or the password does not open it
   */
  static String opened(Path path, String pem, @Nullable String password) {
    Matcher encrypted = ENCRYPTED.matcher(pem);
    if (!encrypted.find()) {
      if (pem.contains(OLD_ENCRYPTION)) {
        throw new TlsFileException(
            "ssl_keyfile",
            path + ", encrypted in the form that OpenSSL had before PKCS#8",
            "BEGIN ENCRYPTED PRIVATE KEY, as openssl pkcs8 -topk8 writes it");
      }
      if (!PLAIN.matcher(pem).find()) {
        throw new TlsFileException(
            "ssl_keyfile", path + ", without a private key in it", "a private key in PEM");
      }
      return pem;
    }
    if (password == null) {
      throw new TlsFileException(
          "ssl_keyfile_password", "missing", "the password of " + path + ", which is encrypted");
    }
    try {
      return pem(decrypted(encrypted.group(1), password));
    } catch (GeneralSecurityException | IOException | IllegalArgumentException unopened) {
      throw new TlsFileException(
          "ssl_keyfile_password", "does not open " + path, "the password of ssl_keyfile");
    }
  }

  private static byte[] decrypted(String base64, String password)
      throws GeneralSecurityException, IOException {
    EncryptedPrivateKeyInfo key =
        new EncryptedPrivateKeyInfo(Base64.getMimeDecoder().decode(base64));
    AlgorithmParameters parameters = key.getAlgParameters();
    // Of PBES2 it is the parameters that name the algorithm.
    String algorithm =
        parameters != null && parameters.toString() != null && isPbes2(key.getAlgName())
            ? parameters.toString()
            : key.getAlgName();
    Key secret =
        SecretKeyFactory.getInstance(algorithm)
            .generateSecret(new PBEKeySpec(password.toCharArray()));
    Cipher cipher = Cipher.getInstance(algorithm);
    cipher.init(Cipher.DECRYPT_MODE, secret, parameters);
    return key.getKeySpec(cipher).getEncoded();
  }

  private static boolean isPbes2(String algorithm) {
    return algorithm.equals("PBES2") || algorithm.equals("1.2.840.113549.1.5.13");
  }

  private static String pem(byte[] pkcs8) {
    return "-----BEGIN PRIVATE KEY-----\n"
        + Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII)).encodeToString(pkcs8)
        + "\n-----END PRIVATE KEY-----\n";
  }
}
