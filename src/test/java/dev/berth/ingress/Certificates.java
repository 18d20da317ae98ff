package dev.berth.ingress;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.util.Base64;
import java.util.HexFormat;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;

/** Certificates for this machine, and their files. */
public final class Certificates {
  private static final String PBES2 = "PBEWithHmacSHA256AndAES_256";
  private static final byte[] PBES2_ID =
      HexFormat.of().parseHex("06092a864886f70d01050d"); // 1.2.840.113549.1.5.13

  private Certificates() {}

  /** An authority, whose certificates both sides may hold. */
  public static X509Bundle authority() throws Exception {
    return new CertificateBuilder()
        .subject("CN=test authority")
        .setIsCertificateAuthority(true)
        .buildSelfSigned();
  }

  /** A server's, for 127.0.0.1 and localhost, with an EC key. */
  public static X509Bundle server(X509Bundle authority, String name) throws Exception {
    return server(authority, name, CertificateBuilder.Algorithm.ecp256);
  }

  /** A server's, with a key of a kind. */
  public static X509Bundle server(
      X509Bundle authority, String name, CertificateBuilder.Algorithm algorithm) throws Exception {
    return new CertificateBuilder()
        .algorithm(algorithm)
        .subject("CN=" + name)
        .addSanDnsName("localhost")
        .addSanIpAddress("127.0.0.1")
        .addExtendedKeyUsageServerAuth()
        .buildIssuedBy(authority);
  }

  /** A client's. */
  public static X509Bundle client(X509Bundle authority) throws Exception {
    return new CertificateBuilder()
        .subject("CN=client")
        .addExtendedKeyUsageClientAuth()
        .buildIssuedBy(authority);
  }

  /** Writes a file whole, by a rename, as whoever renews certificates should. */
  public static Path write(Path file, String text) throws IOException {
    Path beside = file.resolveSibling(file.getFileName() + ".new");
    Files.writeString(beside, text);
    return Files.move(
        beside,
        file,
        java.nio.file.StandardCopyOption.REPLACE_EXISTING,
        java.nio.file.StandardCopyOption.ATOMIC_MOVE);
  }

  /** The key as PKCS#8 in PEM, encrypted. */
  public static String encrypted(PrivateKey key, String password) throws Exception {
    SecretKey secret =
        SecretKeyFactory.getInstance(PBES2).generateSecret(new PBEKeySpec(password.toCharArray()));
    Cipher cipher = Cipher.getInstance(PBES2);
    cipher.init(Cipher.ENCRYPT_MODE, secret);
    byte[] algorithm =
        der(0x30, PBES2_ID, cipher.getParameters().getEncoded()); // the JDK writes no PBES2 itself
    byte[] encrypted = der(0x30, algorithm, der(0x04, cipher.doFinal(key.getEncoded())));
    return "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
        + Base64.getMimeEncoder().encodeToString(encrypted)
        + "\n-----END ENCRYPTED PRIVATE KEY-----\n";
  }

  private static byte[] der(int tag, byte[]... parts) {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      content.writeBytes(part);
    }
    ByteArrayOutputStream der = new ByteArrayOutputStream();
    der.write(tag);
    der.write(0x82); // two bytes of length follow
    der.write(content.size() >> 8);
    der.write(content.size());
    der.writeBytes(content.toByteArray());
    return der.toByteArray();
  }
}
