package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.cluster.CertificateNames;
import dev.berth.config.AdminOptions;
import dev.berth.config.ClusterConfig;
import dev.berth.config.ClusterConfig.ClusterRole;
import dev.berth.config.ClusterConfig.ClusterTls;
import dev.berth.config.ClusterConfig.JoinAddress;
import dev.berth.config.ConfigReader;
import dev.berth.config.HttpOptions;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.NetClientOptions;
import io.vertx.core.net.NetServer;
import io.vertx.core.net.NetServerOptions;
import io.vertx.core.net.NetSocket;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the command makes is what nodes take: read, and shown to each other. */
@Timeout(120)
class ClusterInitIT {
  private final Vertx vertx = Vertx.vertx();

  @TempDir Path folder;

  @AfterEach
  void close() throws Exception {
    await(vertx.close());
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
  }

  private String init(String into, String... options) {
    StringWriter out = new StringWriter();
    List<String> all = new ArrayList<>(List.of("cluster", "init", folder.resolve(into).toString()));
    all.addAll(List.of(options));
    int code =
        Main.commandLine(
                (config, stop) -> Future.failedFuture("not started here"),
                CliEnvironment.ofProcess(() -> CompletableFuture.completedFuture("none")))
            .setOut(new PrintWriter(out))
            .execute(all.toArray(String[]::new));
    assertThat(code).isZero();
    return out.toString();
  }

  private ServeConfig read(String file) {
    return ConfigReader.read(folder.resolve(file), List.of());
  }

  private ClusterConfig node(String file) {
    return read(file).cluster();
  }

  @Test
  void threeNodesOfOneMachineKnowEachOtherAndNobodyElse() throws Exception {
    String said = init("trial");
    Path trial = folder.resolve("trial");
    assertThat(said)
        .contains(
            "  berth run " + trial.resolve("n1.yaml"), "  berth run " + trial.resolve("n3.yaml"))
        .contains("berth status --address http://127.0.0.1:8267", "http://127.0.0.1:8002/echo");

    Set<Integer> ports = new HashSet<>();
    for (String name : List.of("n1", "n2", "n3")) {
      ServeConfig file = read("trial/" + name + ".yaml");
      ClusterConfig node = file.cluster();
      assertThat(node.node()).isEqualTo(name);
      assertThat(node.role())
          .isEqualTo(name.equals("n1") ? ClusterRole.CONTROL : ClusterRole.WORKER);
      assertThat(node.join()).containsExactly(new JoinAddress("127.0.0.1", 7420, false));
      assertThat(file.get(InstanceOptions.STATE_DIR)).isEqualTo(trial.resolve(name + "-state"));
      assertThat(CertificateNames.refusal(node, Instant.now())).isNull();
      assertThat(CertificateNames.refusal(node, Instant.now().plus(Duration.ofDays(366))))
          .contains(": NotAfter: ");
      ports.addAll(
          List.of(
              file.get(HttpOptions.PORT),
              file.get(AdminOptions.PORT),
              node.ports().control(),
              node.ports().data(),
              node.ports().consensus(),
              node.ports().https(),
              node.ports().bus()));
      assertOnlyMine(node.tls().keyFile());
      assertThatNettyTakes(node.tls());
    }
    assertThat(ports).hasSize(21);
    assertOnlyMine(trial.resolve("ca-key.pem"));

    init("other", "--nodes", "1");
    ClusterTls here = node("trial/n1.yaml").tls();
    assertThat(connect(here, node("trial/n2.yaml").tls())).contains("n2").doesNotContain("n1");
    assertThatThrownBy(() -> connect(here, node("other/n1.yaml").tls())).isNotNull();
    assertThatThrownBy(() -> connect(node("other/n1.yaml").tls(), here)).isNotNull();
  }

  @Test
  void workersMayShareACertificateAndNodesHaveHosts() throws Exception {
    JsonObject said =
        new JsonObject(
            init(
                "shared",
                "--worker-cert",
                "--json",
                "--name=acme",
                "--host=n1=10.0.0.1",
                "--host=n3=berth.example"));
    assertThat(said.getJsonArray("start")).hasSize(3);
    assertThat(said.getJsonArray("then")).isInstanceOf(JsonArray.class).isNotEmpty();

    ClusterConfig third = node("shared/n3.yaml");
    assertThat(third.bind()).isEqualTo("0.0.0.0");
    assertThat(third.advertise()).isEqualTo("berth.example");
    assertThat(third.join()).containsExactly(new JoinAddress("10.0.0.1", 7420, false));
    assertThat(third.tls()).isEqualTo(node("shared/n2.yaml").tls());
    assertThat(CertificateNames.refusal(third, Instant.now())).isNull();
    Set<String> names = connect(node("shared/n1.yaml").tls(), third.tls());
    assertThat(names).containsExactly("berth.example", "worker.acme");
    assertThat(CertificateNames.refusal(names, "acme", "n99", ClusterRole.WORKER)).isNull();
    assertThat(CertificateNames.refusal(names, "acme", "n1", ClusterRole.CONTROL)).isNotNull();
  }

  private static void assertOnlyMine(Path key) throws Exception {
    assertThat(key).content().startsWith("-----BEGIN PRIVATE KEY-----");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(key)))
        .isEqualTo("rw-------");
  }

  /** As the consensus engine reads them: through OpenSSL where there is one. */
  private static void assertThatNettyTakes(ClusterTls tls) throws Exception {
    assertThat(
            SslContextBuilder.forServer(tls.certFile().toFile(), tls.keyFile().toFile())
                .trustManager(tls.caFile().toFile())
                .sslProvider(OpenSsl.isAvailable() ? SslProvider.OPENSSL : SslProvider.JDK)
                .build())
        .isNotNull();
  }

  /** Lets one node ask another, each with its files; gives who the asked one saw. */
  private Set<String> connect(ClusterTls server, ClusterTls client) throws Exception {
    CompletableFuture<Set<String>> seen = new CompletableFuture<>();
    NetServer listening =
        vertx
            .createNetServer(
                new NetServerOptions()
                    .setHost("127.0.0.1")
                    .setSsl(true)
                    .setClientAuth(ClientAuth.REQUIRED)
                    .setKeyCertOptions(own(server))
                    .setTrustOptions(authority(server)))
            .exceptionHandler(seen::completeExceptionally)
            .connectHandler(socket -> seen.complete(names(socket)));
    await(listening.listen(0));
    NetClientOptions asking =
        new NetClientOptions()
            .setSsl(true)
            .setHostnameVerificationAlgorithm("HTTPS")
            .setKeyCertOptions(own(client))
            .setTrustOptions(authority(client));
    try {
      await(vertx.createNetClient(asking).connect(listening.actualPort(), "127.0.0.1"));
      return seen.get(30, TimeUnit.SECONDS);
    } finally {
      await(listening.close());
    }
  }

  private static Set<String> names(NetSocket socket) {
    return CertificateNames.of(socket.sslSession());
  }

  private static PemKeyCertOptions own(ClusterTls tls) {
    return new PemKeyCertOptions()
        .setCertPath(tls.certFile().toString())
        .setKeyPath(tls.keyFile().toString());
  }

  private static PemTrustOptions authority(ClusterTls tls) {
    return new PemTrustOptions().addCertPath(tls.caFile().toString());
  }
}
