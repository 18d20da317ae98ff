package dev.berth.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ClusterConfig;
import dev.berth.config.ClusterConfig.ClusterRole;
import dev.berth.config.Yaml;
import io.netty.pkitesting.CertificateBuilder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CertificateNamesTest {
  private static final Instant NOW = Instant.parse("2026-06-01T12:00:00Z");
  private static final Instant LATER = Instant.parse("2027-06-01T12:00:00Z");

  @TempDir Path folder;

  private static X509Certificate of(String subject, String... dnsNames) throws Exception {
    CertificateBuilder builder =
        new CertificateBuilder()
            .algorithm(CertificateBuilder.Algorithm.ecp256)
            .notBefore(NOW.minusSeconds(60))
            .notAfter(LATER)
            .setIsCertificateAuthority(true)
            .subject(subject);
    for (String name : dnsNames) {
      builder.addSanDnsName(name);
    }
    return builder.buildSelfSigned().getCertificate();
  }

  private static @Nullable String refusal(
      X509Certificate certificate, String node, ClusterRole role) {
    return CertificateNames.refusal(CertificateNames.of(certificate), "prod", node, role);
  }

  @Test
  void itSpeaksForItsCnAndItsDnsNamesAndNoAddress() throws Exception {
    X509Certificate certificate = of("C=CH, O=\"n9, CN=n8\", CN=N1", "n2.svc", "N2");
    assertThat(CertificateNames.of(certificate)).containsExactly("n1", "n2", "n2.svc");
    assertThat(refusal(certificate, "n1", ClusterRole.CONTROL)).isNull();
    assertThat(refusal(certificate, "n2", ClusterRole.WORKER)).isNull();
    assertThat(refusal(certificate, "n3", ClusterRole.WORKER)).isNotNull();
  }

  @ParameterizedTest
  @CsvSource({
    "worker.prod, WORKER, true",
    "worker.prod, CONTROL, false",
    "worker.test, WORKER, false",
    "worker, WORKER, false",
    "n7x, WORKER, false",
    "n7.prod, WORKER, false",
    "n7, CONTROL, true"
  })
  void workersMayShareOne(String name, ClusterRole role, boolean admitted) throws Exception {
    assertThat(refusal(of("CN=" + name), "n7", role) == null).isEqualTo(admitted);
    assertThat(refusal(of("O=acme", name), "n7", role) == null).isEqualTo(admitted);
  }

  @Test
  void whatEveryCertificateSaysIsNobodysName() throws Exception {
    X509Certificate certificate = of("CN=n1", "localhost");
    assertThat(CertificateNames.of(certificate)).containsExactly("n1");
    assertThat(refusal(certificate, "localhost", ClusterRole.WORKER))
        .isEqualTo("a certificate of [n1] (expected: of localhost or worker.prod)");
  }

  @Test
  void aNodeLooksAtItsOwnFirst() throws Exception {
    Path file = folder.resolve("own.pem");
    Files.writeString(file, "nothing");
    String where = "berth.cluster.tls.cert_file: " + file + ": ";
    assertThat(CertificateNames.refusal(node(file), NOW))
        .startsWith(where)
        .endsWith("(expected: a certificate in PEM, valid at " + NOW + ")");

    CertificateBuilder builder =
        new CertificateBuilder()
            .setIsCertificateAuthority(true)
            .notBefore(NOW)
            .notAfter(LATER)
            .subject("CN=n2");
    Files.writeString(file, builder.buildSelfSigned().getCertificatePEM());
    assertThat(CertificateNames.refusal(node(file), NOW))
        .isEqualTo(where + "a certificate of [n2] (expected: of n1)");
    builder.subject("CN=n1");
    Files.writeString(file, builder.buildSelfSigned().getCertificatePEM());
    assertThat(CertificateNames.refusal(node(file), NOW)).isNull();
    assertThat(CertificateNames.refusal(node(file), LATER)).isNull();
    for (Instant wrong : List.of(LATER.plusSeconds(1), NOW.minusSeconds(1))) {
      assertThat(CertificateNames.refusal(node(file), wrong))
          .startsWith(where + (wrong.isAfter(LATER) ? "NotAfter: " : "NotBefore: "))
          .endsWith("valid at " + wrong + ")");
    }
  }

  @Test
  void withoutCertificatesThereIsNothingToRefuse() {
    assertThat(CertificateNames.refusal(node("insecure: true"), NOW)).isNull();
  }

  private static ClusterConfig node(Path file) {
    return node(
        "tls: {cert_file: '%s', key_file: '%s', ca_file: '%s'}".formatted(file, file, file));
  }

  private static ClusterConfig node(String tls) {
    return Yaml.read(
            "berth: {cluster: {name: prod, node: n1, role: control, control: ['n1@127.0.0.1:7420'],"
                + " bind: 127.0.0.1, "
                + tls
                + "}}")
        .cluster();
  }
}
