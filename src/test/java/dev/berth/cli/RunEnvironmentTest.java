package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.MetricsOptions;
import dev.berth.config.ServeConfig;
import io.vertx.core.Future;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** What {@code berth run} takes from the environment. */
class RunEnvironmentTest {
  private static final String OURS = "BERTH_HANDLE_AUTOSCALING_METRIC_PUSH_INTERVAL_S";
  private static final String RAYS = "RAY_SERVE_HANDLE_AUTOSCALING_METRIC_PUSH_INTERVAL_S";

  private final AtomicReference<@Nullable ServeConfig> started = new AtomicReference<>();
  private final StringWriter err = new StringWriter();

  private int run(Map<String, String> variables, String... more) {
    Surroundings process =
        Surroundings.ofProcess(() -> CompletableFuture.completedFuture("SIGTERM"));
    Surroundings around =
        new Surroundings(
            false,
            variables::get,
            process.answer(),
            process.nanoClock(),
            process.pause(),
            process.stopSignal());
    CommandLine command =
        Main.commandLine(
            config -> {
              started.set(config);
              return Future.failedFuture(new IllegalArgumentException("seen enough"));
            },
            around);
    command.setErr(new PrintWriter(err));
    String[] args = new String[more.length + 2];
    args[0] = "run";
    args[1] = "--ephemeral";
    System.arraycopy(more, 0, args, 2, more.length);
    return command.execute(args);
  }

  private Duration pushInterval() {
    ServeConfig config = started.get();
    assertThat(config).isNotNull();
    return config.get(MetricsOptions.PUSH_INTERVAL_MS);
  }

  @Test
  void ourVariableWinsOverRaysAndTheCommandLineOverBoth() {
    run(Map.of(RAYS, "10"));
    assertThat(pushInterval()).isEqualTo(Duration.ofSeconds(10));
    run(Map.of(RAYS, "10", OURS, "1.5"));
    assertThat(pushInterval()).isEqualTo(Duration.ofMillis(1_500));
    run(Map.of(OURS, "1.5"), "--set", "berth.metrics.push_interval_ms=700");
    assertThat(pushInterval()).isEqualTo(Duration.ofMillis(700));
    run(Map.of(OURS, " "));
    assertThat(pushInterval()).isEqualTo(Duration.ofSeconds(1));
  }

  @Test
  void aVariableThatIsNoTimeIsRefusedByItsName() {
    assertThat(run(Map.of(RAYS, "soon"))).isEqualTo(2);
    assertThat(err.toString()).contains(RAYS).contains("berth.metrics.push_interval_ms: ");
    assertThat(started.get()).isNull();
  }
}
