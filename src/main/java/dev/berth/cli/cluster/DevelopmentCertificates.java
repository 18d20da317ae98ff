package dev.berth.cli.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A CA with signed certificates, created by the {@code keytool} of the running JDK. Its key store
 * is in a temporary folder that only the owner can read, and is deleted at the end. Keys are EC
 * P-256.
 *
 * <p>Source: keytool's {@code -genkeypair -signer}, since JDK 17.
 */
public final class DevelopmentCertificates {
  /** Validity of the CA's certificate in days. */
  private static final int CA_DAYS = 3650;

  /** Validity of the nodes' certificates in days. */
  private static final int NODE_DAYS = 365;

  private static final String CA = "ca";
  private static final String PASSWORD = "of a temporary file";

  private DevelopmentCertificates() {}

  /**
   * Writes {@code NAME.pem} and {@code NAME-key.pem} of a CA and of each certificate. Only the
   * owner can read the keys. Blocks.
   *
   * @param certificates further names of each certificate, including addresses, by its CN
   * @throws IOException with the output of keytool, when keytool failed
   */
  public static void write(Path into, String cluster, Map<String, Set<String>> certificates)
      throws IOException, GeneralSecurityException, InterruptedException {
    Path folder = Files.createTempDirectory("berth-cluster");
    Path store = folder.resolve("keys.p12");
    try {
      String issues = "ku:c=keyCertSign,cRLSign";
      make(store, CA, cluster + "-ca", CA_DAYS, "bc:c=ca:true,pathlen:0", issues);
      for (Map.Entry<String, Set<String>> each : certificates.entrySet()) {
        String name = each.getKey();
        String names =
            each.getValue().stream()
                .map(host -> (host.matches("[0-9.]+|.*:.*") ? ",ip:" : ",dns:") + host)
                .collect(Collectors.joining("", "san=dns:" + name, ""));
        String use = "eku=serverAuth,clientAuth";
        make(store, name, name, NODE_DAYS, "ku:c=digitalSignature", use, names);
      }
      export(store, into);
    } finally {
      Files.deleteIfExists(store);
      Files.delete(folder);
    }
  }

  private static void make(Path store, String alias, String subject, int days, String... extensions)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
    command.addAll(List.of("-J-XX:TieredStopAtLevel=1", "-genkeypair", "-storetype", "PKCS12"));
    command.addAll(List.of("-keystore", store.toString(), "-storepass", PASSWORD));
    command.addAll(List.of("-alias", alias, "-dname", "CN=" + subject));
    command.addAll(List.of("-keyalg", "EC", "-groupname", "secp256r1", "-startdate", "-1d"));
    command.addAll(List.of("-validity", String.valueOf(days)));
    List.of(extensions).forEach(each -> command.addAll(List.of("-ext", each)));
    if (!alias.equals(CA)) {
      command.addAll(List.of("-signer", CA));
    }
    Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (keytool.waitFor() != 0) {
      throw new IOException("keytool: " + said.strip());
    }
  }

  private static void export(Path store, Path into) throws IOException, GeneralSecurityException {
    KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
    for (String name : Collections.list(keys.aliases())) {
      String certificate = pem("CERTIFICATE", keys.getCertificate(name).getEncoded());
      Files.writeString(into.resolve(name + ".pem"), certificate);
      byte[] key = keys.getKey(name, PASSWORD.toCharArray()).getEncoded(); // PKCS #8
      Path hidden = Files.createTempFile(into, name, null); // readable by the owner alone
      Files.writeString(hidden, pem("PRIVATE KEY", key));
      Files.move(hidden, into.resolve(name + "-key.pem"));
    }
  }

  private static String pem(String what, byte[] bytes) {
    String lines = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
    return "-----BEGIN %s-----\n%s\n-----END %s-----\n".formatted(what, lines, what);
  }
}
