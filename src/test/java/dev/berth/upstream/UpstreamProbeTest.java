package dev.berth.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.dialect.mcp.SessionIds;
import dev.berth.upstream.client.AddressPolicy;
import io.vertx.core.Vertx;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.VertxInternal;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class UpstreamProbeTest {
  private final Vertx vertx = Vertx.vertx();
  private final ContextInternal loop = ((VertxInternal) vertx).createEventLoopContext();
  private final RelayEnvironment instance =
      new RelayEnvironment(
          null,
          () -> new AddressPolicy(false, Set.of(), Set.of(), Map::of, null),
          "",
          "1.1 berth-1",
          new SessionIds(new byte[] {1}),
          new OwnerLease(System::nanoTime));

  @AfterEach
  void close() throws Exception {
    vertx.close().await(20, TimeUnit.SECONDS);
  }

  private boolean reaches(int port, Map<String, ?> more) throws Exception {
    Map<String, @Nullable Object> config =
        new HashMap<>(Map.of("url", "http://127.0.0.1:" + port, "max_ongoing_requests", 2));
    config.putAll(Map.of("cancel_grace_s", 1.0, "orphan_s", 1));
    config.putAll(more);
    return UpstreamProbe.run(loop, config, instance).await(20, TimeUnit.SECONDS);
  }

  @Test
  void listeningServerIsReachedAndAClosedPortOrAnUnreadableFileIsNot() throws Exception {
    int port;
    try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) {
      port = server.getLocalPort();
      assertThat(reaches(port, Map.of())).isTrue();
      Map<String, ?> health = Map.of("path", "/healthz", "timeout_s", 0.2);
      assertThat(reaches(port, Map.of("health", health))).isFalse(); // no response
      assertThat(reaches(port, Map.of("headers_file", "none.headers"))).isFalse();
    }
    assertThat(reaches(port, Map.of())).isFalse();
  }
}
