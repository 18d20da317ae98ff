package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.berth.admin.ServeJson;
import dev.berth.ingress.Certificates;
import dev.berth.view.ServeDetails;
import io.netty.pkitesting.X509Bundle;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Commands to an admin server with TLS. */
class SecureAddressTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  @TempDir private Path folder;
  private X509Bundle authority;
  private HttpsServer server;

  @BeforeEach
  void startServer() throws Exception {
    authority = Certificates.authority();
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(
        Certificates.server(authority, "localhost").toKeyManagerFactory().getKeyManagers(),
        null,
        null);
    server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setHttpsConfigurator(new HttpsConfigurator(context));
    ServeDetails status = new ServeDetails("node-1", 3, 500, 950, null, "/var/berth", List.of());
    byte[] body = ServeJson.of(status).encode().getBytes(StandardCharsets.UTF_8);
    server.createContext(
        "/",
        exchange -> {
          try (exchange) {
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
          }
        });
    server.start();
  }

  @AfterEach
  void stopServer() {
    server.stop(0);
  }

  private int status(String scheme, String... more) {
    List<String> all = new java.util.ArrayList<>(List.of("status"));
    all.add("--address=" + scheme + "://localhost:" + server.getAddress().getPort());
    all.addAll(List.of(more));
    return FakeInstance.execute(out, err, all.toArray(String[]::new));
  }

  private String file(X509Bundle bundle) throws Exception {
    return "--cacert=" + Certificates.write(folder.resolve("ca.pem"), bundle.getCertificatePEM());
  }

  @Test
  void serverOfANamedAuthorityIsTrusted() throws Exception {
    assertThat(status("https", file(authority))).as(err.toString()).isZero();
    assertThat(out.toString()).contains("node-1, controller term 3");
  }

  @Test
  void serverOfAnotherAuthorityIsNotTrusted() throws Exception {
    assertThat(status("https", file(Certificates.authority()))).isEqualTo(3);
    assertThat(status("https")).isEqualTo(3);
    assertThat(err.toString()).contains("https://localhost:").contains("certificat");
    assertThat(out.toString()).isEmpty();
  }

  @Test
  void fileWithoutCertificatesIsWrongUsage() throws Exception {
    Path file = Certificates.write(folder.resolve("none.pem"), "none");
    assertThat(status("https", "--cacert=" + file)).isEqualTo(2);
    assertThat(status("https", "--cacert=" + folder.resolve("absent"))).isEqualTo(2);
    assertThat(err.toString())
        .contains("--cacert: " + file, "(expected: X.509 certificates in PEM)")
        .contains("(expected: a readable file)");
  }

  @Test
  void addressWithoutTlsNamesTheScheme() {
    assertThat(status("http")).isEqualTo(3);
    assertThat(err.toString()).contains("(expected: https, if the server uses TLS)");
  }
}
