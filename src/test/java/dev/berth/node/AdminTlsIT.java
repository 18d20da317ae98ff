package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.ingress.Certificates;
import dev.berth.net.tls.PemFile;
import io.netty.pkitesting.X509Bundle;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpVersion;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The admin port with TLS. */
@Timeout(60)
class AdminTlsIT {
  private static final String INSTANCE =
      """
      http_options: {host: 127.0.0.1, port: 0}
      berth:
        ephemeral: true
        shutdown_timeout_s: 5
        admin: {port: 0, http2: %s, tls: {ssl_certfile: %s, ssl_keyfile: %s}}
      """;

  @TempDir private Path folder;
  private X509Bundle authority;
  private Path certificate;
  private Path key;

  @BeforeEach
  void writeFiles() throws Exception {
    authority = Certificates.authority();
    install("first");
  }

  private void install(String name) throws Exception {
    X509Bundle server = Certificates.server(authority, name);
    certificate = Certificates.write(folder.resolve("s.pem"), server.getCertificatePathPEM());
    key = Certificates.write(folder.resolve("s.key"), server.getPrivateKeyPEM());
  }

  private TestNode start(boolean http2) throws Exception {
    return new TestNode(INSTANCE.formatted(http2, certificate, key));
  }

  private HttpClient client() throws Exception {
    Path file = Certificates.write(folder.resolve("ca.pem"), authority.getCertificatePEM());
    KeyStore store = KeyStore.getInstance("JKS");
    store.load(null, null);
    X509Certificate trusted = new PemFile("", "ca", file).certificates()[0];
    store.setCertificateEntry("ca", trusted);
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return HttpClient.newBuilder().sslContext(context).build();
  }

  private static HttpResponse<String> get(HttpClient client, TestNode node, String... headers)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
                URI.create("https://localhost:" + node.node.adminPort() + "/metrics"))
            .timeout(Duration.ofSeconds(20));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  @Test
  void portAcceptsTlsAloneByTheProtocolThatIsEnabled() throws Exception {
    try (TestNode node = start(false)) {
      HttpResponse<String> response = get(client(), node);
      assertThat(response.statusCode()).isEqualTo(200);
      assertThat(response.version()).isEqualTo(HttpClient.Version.HTTP_1_1);
      assertThat(response.body())
          .containsPattern("berth_certificate_expiry_seconds\\{.*of=\"admin\".*} [1-9]");
      assertThatThrownBy(() -> get(HttpClient.newHttpClient(), node))
          .isInstanceOf(SSLException.class);
      assertThatThrownBy(() -> node.admin("GET", "/metrics", ""))
          .hasCauseInstanceOf(IOException.class);
    }
    try (TestNode node = start(true)) {
      assertThat(get(client(), node).version()).isEqualTo(HttpClient.Version.HTTP_2);
    }
  }

  @Test
  void refusedBodyOverHttp2GetsItsResponseAndLeavesTheConnection() throws Exception {
    Vertx vertx = Vertx.vertx();
    try (TestNode node = start(true)) {
      HttpClientOptions options =
          new HttpClientOptions()
              .setProtocolVersion(HttpVersion.HTTP_2)
              .setUseAlpn(true)
              .setSsl(true)
              .setTrustAll(true);
      io.vertx.core.http.HttpClient client = vertx.createHttpClient(options);
      int port = node.node.adminPort();
      for (int i = 0; i < 3; i++) {
        assertThat(
                TestNode.await(
                    client
                        .request(HttpMethod.POST, port, "localhost", "/api/v1/play")
                        .compose(
                            request -> {
                              request.end(Buffer.buffer(new byte[3 << 20]));
                              return request.response();
                            })
                        .map(HttpClientResponse::statusCode)))
            .isEqualTo(413);
      }
    } finally {
      TestNode.await(vertx.close());
    }
  }

  @Test
  void changedFilesServeNewConnections() throws Exception {
    try (TestNode node = start(false)) {
      assertThat(subject(get(client(), node))).isEqualTo("CN=first");
      install("second");
      TestNode.until(() -> subject(node).equals("CN=second"), () -> "the old certificate");
    }
  }

  private String subject(TestNode node) {
    try {
      return subject(get(client(), node));
    } catch (Exception failed) {
      throw new AssertionError(failed);
    }
  }

  private static String subject(HttpResponse<String> response) throws SSLException {
    return ((X509Certificate) response.sslSession().orElseThrow().getPeerCertificates()[0])
        .getSubjectX500Principal()
        .getName();
  }

  @Test
  void silentConnectionIsClosedAndNoOtherWaits() throws Exception {
    try (TestNode node = start(false);
        Socket silent = new Socket("127.0.0.1", node.node.adminPort())) {
      assertThat(silent.isConnected()).isTrue();
      assertThat(get(client(), node).statusCode()).isEqualTo(200);
    }
  }
}
