package dev.berth.protocol.tls;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import javax.crypto.Cipher;
import javax.crypto.EncryptedPrivateKeyInfo;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.PBEKeySpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Opens a private key encrypted as PKCS#8 has it. PBES2 is read here, since the JDK knows it with
 * AES alone and OpenSSL 3 still writes it with triple DES; what is older the JDK opens.
 *
 * <p>Source: RFC 5958, section 3, and RFC 8018, appendix A.
 */
final class EncryptedKey {
  private static final int SEQUENCE = 0x30;
  private static final int OCTETS = 0x04;
  private static final int INTEGER = 0x02;
  private static final int OBJECT_ID = 0x06;

  private static final String PBES2 = "2a864886f70d01050d";
  private static final String PBKDF2 = "2a864886f70d01050c";

  /** More would take longer than anyone waits, and no tool writes them. */
  private static final int MAX_ITERATIONS = 10_000_000;

  private EncryptedKey() {}

  /**
   * The key as PKCS#8.
   *
   * @throws NoSuchAlgorithmException when it is encrypted in a way that is not known here
   * @throws GeneralSecurityException when the password does not open it
   * @throws IOException when it is not what it should be
   * @throws BufferUnderflowException when it is cut short
   */
  static byte[] open(byte[] encrypted, String password)
      throws GeneralSecurityException, IOException {
    Der info = new Der(encrypted).enter(SEQUENCE);
    Der algorithm = info.enter(SEQUENCE);
    byte[] key =
        algorithm.id().equals(PBES2)
            ? openPbes2(algorithm.enter(SEQUENCE), info.read(OCTETS), password)
            : openPbes1(encrypted, password);
    // A wrong password may leave a padding that looks right.
    new Der(key).enter(SEQUENCE).enter(INTEGER);
    return key;
  }

  private static byte[] openPbes2(Der parameters, byte[] data, String password)
      throws GeneralSecurityException, IOException {
    Der derivation = parameters.enter(SEQUENCE);
    String function = derivation.id();
    if (!function.equals(PBKDF2)) {
      throw new NoSuchAlgorithmException("key derivation " + function);
    }
    Der derived = derivation.enter(SEQUENCE);
    byte[] salt = derived.read(OCTETS);
    int iterations = new BigInteger(derived.read(INTEGER)).intValueExact();
    if (iterations < 1 || iterations > MAX_ITERATIONS) {
      throw new NoSuchAlgorithmException("iterations " + iterations);
    }
    if (derived.isNext(INTEGER)) {
      derived.read(INTEGER); // the key's length, which the cipher says too
    }
    String hash = derived.isNext(SEQUENCE) ? hash(derived.enter(SEQUENCE).id()) : "SHA1";
    Der encryption = parameters.enter(SEQUENCE);
    Scheme scheme = Scheme.of(encryption.id());
    IvParameterSpec start = new IvParameterSpec(encryption.read(OCTETS));
    byte[] secret =
        SecretKeyFactory.getInstance("PBKDF2WithHmac" + hash)
            .generateSecret(
                new PBEKeySpec(password.toCharArray(), salt, iterations, scheme.keyBits))
            .getEncoded();
    Cipher cipher = Cipher.getInstance(scheme.cipher + "/CBC/PKCS5Padding");
    cipher.init(Cipher.DECRYPT_MODE, new SecretKeySpec(secret, scheme.cipher), start);
    return cipher.doFinal(data);
  }

  private static String hash(String id) throws NoSuchAlgorithmException {
    return switch (id) {
      case "2a864886f70d0207" -> "SHA1";
      case "2a864886f70d0208" -> "SHA224";
      case "2a864886f70d0209" -> "SHA256";
      case "2a864886f70d020a" -> "SHA384";
      case "2a864886f70d020b" -> "SHA512";
      default -> throw new NoSuchAlgorithmException("hash " + id);
    };
  }

  /** What encrypts the key. */
  private record Scheme(String cipher, int keyBits) {
    static Scheme of(String id) throws NoSuchAlgorithmException {
      return switch (id) {
        case "60864801650304012a" -> new Scheme("AES", 256);
        case "608648016503040116" -> new Scheme("AES", 192);
        case "608648016503040102" -> new Scheme("AES", 128);
        case "2a864886f70d0307" -> new Scheme("DESede", 192);
        default -> throw new NoSuchAlgorithmException("encryption " + id);
      };
    }
  }

  private static byte[] openPbes1(byte[] encrypted, String password)
      throws GeneralSecurityException, IOException {
    EncryptedPrivateKeyInfo info = new EncryptedPrivateKeyInfo(encrypted);
    SecretKeyFactory factory = SecretKeyFactory.getInstance(info.getAlgName());
    return info.getKeySpec(factory.generateSecret(new PBEKeySpec(password.toCharArray())))
        .getEncoded();
  }

  /** A run of DER values, read in order. */
  private record Der(ByteBuffer values) {
    Der(byte[] bytes) {
      this(ByteBuffer.wrap(bytes));
    }

    boolean isNext(int tag) {
      return values.hasRemaining() && values.get(values.position()) == tag;
    }

    Der enter(int tag) throws IOException {
      return new Der(read(tag));
    }

    /** An object's id, in hexadecimal as it is encoded. */
    String id() throws IOException {
      return HexFormat.of().formatHex(read(OBJECT_ID));
    }

    byte[] read(int tag) throws IOException {
      if (!isNext(tag)) {
        throw new IOException("DER: no value with tag " + tag + " at " + values.position());
      }
      values.get();
      int length = values.get();
      if (length < 0) { // so many octets follow, with the length in them
        int octets = length & 0x7f;
        if (octets > 3) {
          throw new IOException("DER: a length of " + octets + " octets");
        }
        length = 0;
        for (int i = 0; i < octets; i++) {
          length = length << 8 | values.get() & 0xff;
        }
      }
      if (length > values.remaining()) {
        throw new BufferUnderflowException();
      }
      byte[] value = new byte[length];
      values.get(value);
      return value;
    }
  }
}
