package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What clients are told who find one slot taken and one place in the queue taken too: at the
 * deployment of the route, and behind it at one that it calls.
 */
class BackPressureIT extends GatedServer {
  @BeforeAll
  static void start(@TempDir Path folder) throws IOException {
    StringBuilder config = new StringBuilder("applications:\n");
    String refusal = "backpressure_config: {status_code: 429, retry_after_s: 7}";
    application(config, "gated", "GatedApplication", "gated", "");
    application(config, "gated-429", "GatedApplication", "gated", ", " + refusal);
    application(config, "composed", "ComposedApplication", "child", "");
    application(config, "composed-429", "ComposedApplication", "child", ", " + refusal);
    server = TestJar.serve(folder, config.toString());
  }

  private static void application(
      StringBuilder config, String name, String builder, String limited, String more) {
    config.append(
        """
          - name: %1$s
            route_prefix: /%1$s
            import_path: dev.berth.it.app.%2$s:build
            runtime_env: {jars: [app.jar]}
            deployments:
              - {name: %3$s, max_ongoing_requests: 1, max_queued_requests: 1%4$s}
        """
            .formatted(name, builder, limited, more));
  }

  @ParameterizedTest
  @CsvSource({
    "/gated, 503, 1",
    "/gated-429, 429, 7",
    "/composed/child, 503, [0-9]+",
    "/composed/blocking, 503, [0-9]+",
    "/composed-429/child, 429, 7",
    "/composed-429/blocking, 429, 7",
  })
  void whoFindsNoRoomIsToldTheStatusOfTheDeploymentThatRefusedAndTheOthersAreServed(
      String path, int status, String retryAfter) throws Exception {
    Client others = client();
    Client first = client().get(gate.path(path, "first"));
    Gate.Visitor running = gate.next();
    Client second = client().get(gate.path(path, "second"));
    awaitQueued(1);

    for (int i = 0; i < 10; i++) {
      Client.Answer refused = others.get(gate.path(path, "other")).answer();
      assertThat(refused.status()).isEqualTo(status);
      assertThat(refused.header("retry-after")).matches(retryAfter);
      assertThat(refused.body()).startsWith("Request dropped due to backpressure");
    }

    running.release();
    assertThat(first.answer().body()).isEqualTo("done first");
    nextDone("second", second);
  }
}
