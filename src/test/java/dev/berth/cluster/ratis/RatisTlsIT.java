package dev.berth.cluster.ratis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.code.StartFailedException;
import dev.berth.config.ClusterConfig;
import dev.berth.desired.ConsensusEngine.ConsensusOptions;
import dev.berth.desired.StateLog;
import dev.berth.ingress.Certificates;
import dev.berth.net.tls.TlsFiles;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.conf.Parameters;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.grpc.GrpcConfigKeys;
import org.apache.ratis.grpc.GrpcTlsConfig;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.retry.RetryPolicies;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Control nodes alone are heard, by their certificates. */
class RatisTlsIT {
  @TempDir Path folder;

  private TlsFiles files(X509Bundle authority, X509Bundle own, String name) throws IOException {
    return new ClusterConfig.ClusterTls(
            Files.writeString(folder.resolve(name + ".crt"), own.getCertificatePathPEM()),
            Files.writeString(folder.resolve(name + ".key"), own.getPrivateKeyPEM()),
            Files.writeString(folder.resolve(name + ".ca"), authority.getCertificatePEM()),
            true)
        .files();
  }

  private TlsFiles node(X509Bundle authority, String name) throws Exception {
    return files(
        authority,
        new CertificateBuilder()
            .subject("CN=" + name)
            .addSanDnsName("localhost")
            .addSanIpAddress("127.0.0.1")
            .buildIssuedBy(authority),
        name + Files.list(folder).count());
  }

  /** The groups that the server tells a client of. */
  private List<RaftGroupId> groups(ConsensusOptions of, GrpcTlsConfig tls) throws IOException {
    RaftPeerId id = RaftPeerId.valueOf("n1");
    RaftPeer peer = RaftPeer.newBuilder().setId(id).setAddress("127.0.0.1:" + of.port()).build();
    Parameters parameters = new Parameters();
    GrpcConfigKeys.TLS.setConf(parameters, tls);
    RaftGroup group = RaftGroup.valueOf(RaftGroupId.valueOf(RatisServer.group("prod")), peer);
    try (RaftClient client =
        RaftClient.newBuilder()
            .setProperties(new RaftProperties())
            .setParameters(parameters)
            .setRaftGroup(group)
            .setRetryPolicy(RetryPolicies.noRetry())
            .build()) {
      return client.getGroupManagementApi(id).list().getGroupIds();
    }
  }

  private static StateLog log(ConsensusOptions options) {
    return new RatisEngine().log(options);
  }

  private static GrpcTlsConfig as(TlsFiles files, boolean mutual) {
    return new GrpcTlsConfig(
        mutual ? files.key().path().toFile() : null,
        mutual ? files.certificate().path().toFile() : null,
        files.authorities().path().toFile(),
        mutual);
  }

  @Test
  void aKeyThatIsNotThereIsNamed() throws Exception {
    TlsFiles own = node(Certificates.authority(), "n1");
    TlsFiles keyless =
        new ClusterConfig.ClusterTls(
                own.certificate().path(), folder.resolve("none"), own.authorities().path(), true)
            .files();
    assertThatThrownBy(
            () ->
                log(new ConsensusOptions(
                        folder.resolve("state"), "prod", "n1", "127.0.0.1", 1, keyless, "f00d"))
                    .open())
        .isInstanceOf(StartFailedException.class)
        .hasMessageStartingWith("berth.cluster.tls.key_file: ")
        .hasMessageContaining("none");
  }

  @Test
  void whoDoesNotFinishItsHandshakeIsClosed() throws Exception {
    int port = RatisLogIT.freePort();
    TlsFiles own = node(Certificates.authority(), "n1");
    StateLog log =
        log(
            new ConsensusOptions(
                folder.resolve("state"), "prod", "n1", "127.0.0.1", port, own, "f00d"));
    log.open();
    try (Socket silent = new Socket("127.0.0.1", port)) {
      silent.setSoTimeout(10_000);
      assertThat(silent.getInputStream().read()).as("closed by the peer").isEqualTo(-1);
    } finally {
      log.close();
    }
  }

  @Test
  void controlNodesAloneAreHeard() throws Exception {
    X509Bundle authority = Certificates.authority();
    TlsFiles own = node(authority, "n1");
    ConsensusOptions options =
        new ConsensusOptions(
            folder.resolve("state"), "prod", "n1", "127.0.0.1", RatisLogIT.freePort(), own, "f00d");
    StateLog log = log(options);
    log.open();
    try {
      assertThat(groups(options, as(own, true))).hasSize(1);
      assertThatThrownBy(() -> groups(options, as(node(authority, "n2"), true)))
          .hasStackTraceContaining("PERMISSION_DENIED");
      assertThatThrownBy(() -> groups(options, as(own, false)))
          .hasStackTraceContaining("UNAVAILABLE");
      TlsFiles stranger = node(Certificates.authority(), "n1");
      TlsFiles both = new TlsFiles(stranger.certificate(), stranger.key(), own.authorities());
      assertThatThrownBy(() -> groups(options, as(both, true)))
          .hasStackTraceContaining("UNAVAILABLE");
      assertThat(log.state().nodes().cluster()).isEqualTo("f00d");
    } finally {
      log.close();
    }
  }
}
