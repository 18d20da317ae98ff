package dev.berth.code;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.controller.DeploymentVersion;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a change of each key needs: new replicas, a reconfiguration, or nothing of a replica. */
class DeploymentVersionsTest {
  private static final String APP = "dev.berth.node.TestApplications:plain";

  private static DeploymentVersion version(String ofApplication, String ofDeployment) {
    String text =
        "applications: [{name: a, import_path: '%s', %s deployments: [{name: back, %s}]}]"
            .formatted(APP, ofApplication, ofDeployment);
    ServeConfig file = ConfigReader.read("test.yaml", Path.of("."), text);
    return ApplicationLoader.read(
            new BuildCache.BuildInputs(file.applications().get(0), file),
            Map.of(),
            BuiltInHandlers.NONE)
        .code()
        .built()
        .targets()
        .stream()
        .filter(target -> target.id().name().equals("back"))
        .findFirst()
        .orElseThrow()
        .version();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          berth: {spread: event_loops}              | restart
          berth: {version: v2}                      | restart
          user_config: {a: 1}                       | live
          max_ongoing_requests: 9                   | live
          graceful_shutdown_timeout_s: 3            | live
          health_check_period_s: 3                  | live
          health_check_timeout_s: 3                 | live
          logging_config: {log_level: DEBUG}        | live
          berth: {max_constructor_retry_count: 3}   | live
          berth: {reservation_ttl_s: 3}             | live
          berth: {cancel_grace_s: 3}                | live
          berth: {max_zombie_requests: 3}           | live
          berth: {max_buffered_body_bytes: 300}     | live
          num_replicas: 9                           | neither
          max_queued_requests: 9                    | neither
          backpressure_config: {status_code: 429}   | neither
          rolling_update_percentage: 0.5            | neither
          max_surge_percent: 50                     | neither
          berth: {queue_timeout_s: 3}               | neither
          berth: {replica_start_timeout_s: 3}       | neither
          berth: {autoscaling: {panic_window_s: 6}} | neither
          num_replicas: auto                        | live
          """)
  void eachKeyOfADeployment(String change, String needs) {
    assertThat(needs(version("", ""), version("", change))).isEqualTo(needs);
  }

  @Test
  void anotherVersionRestartsReplicasAndTheSameDoesNot() {
    DeploymentVersion first = version("", "berth: {version: v1}");
    assertThat(needs(first, version("", "berth: {version: v2}"))).isEqualTo("restart");
    assertThat(version("", "berth: {version: v1}")).isEqualTo(first);
  }

  private static String needs(DeploymentVersion before, DeploymentVersion after) {
    if (after.needsRestartFrom(before)) {
      return "restart";
    }
    return after.equals(before) ? "neither" : "live";
  }

  @Test
  void ofAutoscalingOnlyTheLookBackIsOfTheVersionAndTheIntervalDoesNothing() {
    String config = "autoscaling_config: {max_replicas: %s, look_back_period_s: %s%s}";
    DeploymentVersion v1 = version("", config.formatted(2, 10, ""));
    DeploymentVersion v2 = version("", config.formatted(5, 10, ", downscale_delay_s: 3"));
    DeploymentVersion v3 = version("", config.formatted(2, 3, ""));

    assertThat(v2).isEqualTo(v1).hasSameHashCodeAs(v1);
    assertThat(needs(v1, v3)).as("in place").isEqualTo("live");
    assertThat(version("", config.formatted(2, 10, ", metrics_interval_s: 3"))).isEqualTo(v1);
  }

  @Test
  void theRouteIsAppliedLive() {
    assertThat(needs(version("", ""), version("route_prefix: /other,", ""))).isEqualTo("live");
  }

  @Test
  void aNamedVersionStandsForTheCode() {
    Fingerprint one = new Fingerprint().add("a", java.util.Map.of("x", 1, "y", 2));
    Fingerprint other =
        new Fingerprint().add("a", new java.util.TreeMap<>(java.util.Map.of("y", 2, "x", 1)));
    assertThat(one.toString()).as("the order of keys says nothing").isEqualTo(other.toString());
    var settings = dev.berth.config.DeploymentConfig.of("d");
    assertThat(DeploymentVersions.of("b1", settings, null))
        .isNotEqualTo(DeploymentVersions.of("b2", settings, null));
  }
}
