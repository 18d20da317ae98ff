package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.ingress.Certificates;
import io.netty.pkitesting.X509Bundle;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** TLS of the packaged server, with and without the native libraries. */
class TlsServerIT {
  private static final String HTTP = "http_options: {ssl_keyfile: key.pem, ssl_certfile: cert.pem}";

  @TempDir private Path folder;

  @ParameterizedTest
  @CsvSource({
    "-Da=b, 'tls: BoringSSL, CN=jar', 'transport: epoll'",
    "-Dio.netty.handler.ssl.noOpenSsl=true, 'tls: the JDK''s engine (', 'transport: epoll'",
    "-Dio.netty.transport.noNative=true, 'tls: BoringSSL, CN=jar', 'transport: NIO ('",
  })
  void httpsIsServedByWhatLoads(String option, String tls, String transport) throws Exception {
    X509Bundle authority = Certificates.authority();
    X509Bundle pair = Certificates.server(authority, "jar");
    write(pair, pair);
    try (Server server = Server.start(TestJar.config(folder, "num_replicas: 1", HTTP), option)) {
      assertThat(server.output()).filteredOn(line -> line.contains(tls)).hasSize(1);
      assertThat(server.output()).filteredOn(line -> line.contains(transport)).hasSize(1);
      SSLContext trusting = SSLContext.getInstance("TLS");
      trusting.init(null, authority.toTrustManagerFactory().getTrustManagers(), null);
      HttpClient client = HttpClient.newBuilder().sslContext(trusting).build();
      HttpResponse<String> response =
          client.send(
              HttpRequest.newBuilder(
                      URI.create("https://localhost:" + server.port() + "/-/healthz"))
                  .build(),
              HttpResponse.BodyHandlers.ofString());
      assertThat(response.version()).as("by ALPN").isEqualTo(HttpClient.Version.HTTP_2);
      assertThat(response.body()).isEqualTo("success");
    }
  }

  @Test
  void aKeyThatIsNotTheCertificatesEndsTheStart() throws Exception {
    X509Bundle authority = Certificates.authority();
    write(Certificates.server(authority, "one"), Certificates.server(authority, "other"));
    try (Server server = Server.launch(TestJar.config(folder, "num_replicas: 1", HTTP))) {
      assertThat(server.exitCode()).isNotZero();
      assertThat(String.join("\n", server.output()))
          .contains("http_options.ssl_keyfile: ")
          .contains("(expected: the key of ssl_certfile)")
          .doesNotContain("\tat ");
    }
  }

  private void write(X509Bundle certificate, X509Bundle key) throws Exception {
    Files.writeString(folder.resolve("cert.pem"), certificate.getCertificatePathPEM());
    Files.writeString(folder.resolve("key.pem"), key.getPrivateKeyPEM());
  }
}
