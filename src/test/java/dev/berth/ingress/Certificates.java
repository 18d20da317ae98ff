package dev.berth.ingress;

import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Certificates for this machine, and their files. */
public final class Certificates {
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
}
