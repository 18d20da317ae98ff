package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A client that is killed while it sends to a handler that takes no notice. */
@Timeout(60)
class ZombieStreamIT {
  @Test
  void aHandlerThatDoesNotReactIsShownAsAZombieAndKeepsItsSlot(@TempDir Path folder)
      throws IOException {
    try (Server server =
        TestJar.serve(
            folder,
            """
            applications:
              - name: streams
                route_prefix: /s
                import_path: dev.berth.it.app.StreamsApplication:build
                runtime_env: {jars: [app.jar]}
                deployments:
                  - name: front
                    max_ongoing_requests: 1
                    graceful_shutdown_timeout_s: 0.1
                    berth: {cancel_grace_s: 0.2}
            """)) {
      Client client = new Client(server.port());
      client
          .send("POST /s/hang HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n")
          .send(new byte[200_000]);
      server.await("it runs", () -> server.sum("serve_replica_processing_queries") == 1);
      client.close();
      server.await("a zombie", () -> server.sum("serve_zombie_requests") == 1);
      assertThat(server.sum("serve_replica_processing_queries")).isEqualTo(1);
      assertThat(server.sum("serve_num_ongoing_http_requests")).isZero();
    }
  }
}
