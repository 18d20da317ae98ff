package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.api.HandlerFactory;
import dev.berth.replica.HealthCheckSettings;
import dev.berth.replica.ReplicaSpec;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DeploymentConfigTest {

  private static final LimitOptions LIMITS = LimitOptions.defaults();

  @Test
  void anEntryWithOnlyANameOverridesNothing() {
    assertThat(Yaml.deployment()).isEqualTo(DeploymentConfig.of("cart"));
  }

  @Test
  void everyKeyArrives() {
    assertThat(
            Yaml.deployment(
                    "num_replicas: 2",
                    "max_ongoing_requests: 30",
                    "max_queued_requests: 4",
                    "backpressure_config: {status_code: 429, retry_after_s: 5}",
                    "user_config: {threshold: 0.5}",
                    "graceful_shutdown_timeout_s: 6",
                    "health_check_period_s: 1",
                    "health_check_timeout_s: 0.5",
                    "logging_config: {log_level: ERROR}",
                    "rolling_update_percentage: 0.25",
                    "max_surge_percent: 50",
                    "berth:",
                    "  spread: event_loops",
                    "  queue_timeout_s: 7",
                    "  reservation_ttl_s: 8",
                    "  cancel_grace_s: 9",
                    "  max_zombie_requests: 10",
                    "  max_buffered_body_bytes: 11",
                    "  max_constructor_retry_count: 12",
                    "  replica_start_timeout_s: 90",
                    "  version: v1")
                .resolve(LIMITS))
        .isEqualTo(
            new DeploymentSettings(
                "cart",
                2,
                30,
                4,
                new Backpressure(429, Duration.ofSeconds(5)),
                Map.of("threshold", 0.5),
                Duration.ofSeconds(6),
                Duration.ofSeconds(1),
                Duration.ofMillis(500),
                new LoggingOptions(LogEncoding.TEXT, LogLevel.ERROR, false),
                Spread.EVENT_LOOPS,
                Duration.ofSeconds(7),
                Duration.ofSeconds(8),
                Duration.ofSeconds(9),
                10,
                11,
                new Rollout(0.25, 50.0, 12, Duration.ofSeconds(90), "v1")));
  }

  @Test
  void nothingSetResolvesToTheDefaults() {
    assertThat(DeploymentConfig.of("cart").resolve(LIMITS))
        .isEqualTo(
            new DeploymentSettings(
                "cart",
                1,
                5,
                -1,
                new Backpressure(503, null),
                Map.of(),
                Duration.ofSeconds(20),
                Duration.ofSeconds(10),
                Duration.ofSeconds(30),
                LoggingOptions.defaults(),
                Spread.SINGLE,
                Duration.ofSeconds(60),
                Duration.ofSeconds(10),
                Duration.ofSeconds(10),
                5,
                4_194_304,
                new Rollout(0.2, 20, 20, null, null)))
        .isEqualTo(DeploymentSettings.defaults("cart"));
  }

  @Test
  void theFileWinsOverCodeAndCodeOverTheDefaults() {
    Deployment code =
        Deployment.of("cart", context -> null)
            .withNumReplicas(4)
            .withMaxOngoingRequests(7)
            .withSpreadOverLoops(true)
            .withUserConfig(Map.of("from", "code"));
    DeploymentConfig file =
        Yaml.deployment("num_replicas: 2", "berth: {queue_timeout_s: 1}", "max_surge_percent: 0");

    DeploymentSettings settings = file.over(DeploymentConfig.of(code)).resolve(LIMITS);

    assertThat(settings.numReplicas()).isEqualTo(2);
    assertThat(settings.maxOngoingRequests()).isEqualTo(7);
    assertThat(settings.maxZombieRequests()).isEqualTo(7);
    assertThat(settings.spread()).isEqualTo(Spread.EVENT_LOOPS);
    assertThat(settings.userConfig()).isEqualTo(Map.of("from", "code"));
    assertThat(settings.queueTimeout()).isEqualTo(Duration.ofSeconds(1));
    assertThat(settings.gracefulShutdownTimeout()).isEqualTo(Defaults.GRACEFUL_SHUTDOWN_TIMEOUT);
    assertThat(settings.rollout()).isEqualTo(new Rollout(0.2, 0, 20, null, null));
  }

  @Test
  void whatIsSaidOfARolloutIsKeptToItsRange() {
    assertThat(Yaml.deploymentProblems("berth: {max_constructor_retry_count: 0}"))
        .singleElement()
        .asString()
        .endsWith("max_constructor_retry_count: 0 (expected: an integer from 1 to 1000000)");
    assertThat(Yaml.deployment("rolling_update_percentage: null", "max_surge_percent: null"))
        .isEqualTo(DeploymentConfig.of("cart"));
    assertThatThrownBy(() -> new Rollout(0, 20, 20, null, null))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("rolling_update_percentage: 0 (expected: a number above 0, at most 1)");
  }

  @Test
  void userConfigAndBackpressureAreOverriddenAsAWhole() {
    Deployment code = Deployment.of("cart", context -> null).withUserConfig(Map.of("a", 1, "b", 2));
    DeploymentConfig file = Yaml.deployment("user_config: {a: 3}");

    assertThat(file.over(DeploymentConfig.of(code)).given())
        .containsEntry("user_config", Map.of("a", 3));
  }

  @Test
  void aNullInTheUserConfigReachesTheReplica() {
    Map<String, Object> userConfig =
        Yaml.deployment("user_config: {limit: null}").resolve(LIMITS).userConfig();
    HandlerFactory factory = context -> null;

    assertThat(Deployment.of("cart", factory).withUserConfig(userConfig).userConfig())
        .containsEntry("limit", null);
    assertThat(
            new ReplicaSpec(
                    "r",
                    new DeploymentId("shop", "cart"),
                    1,
                    1,
                    userConfig,
                    factory,
                    null,
                    HealthCheckSettings.DEFAULTS,
                    null)
                .userConfig())
        .containsEntry("limit", null);
  }

  @Test
  void theZombieBoundIsNeverAboveTheSlots() {
    assertThat(zombieBound("max_ongoing_requests: 8")).isEqualTo(8);
    assertThat(zombieBound("max_ongoing_requests: 8", "berth: {max_zombie_requests: 3}"))
        .isEqualTo(3);
    assertThat(zombieBound("max_ongoing_requests: 8", "berth: {max_zombie_requests: 9}"))
        .isEqualTo(8);
  }

  @Test
  void aReservationIsNeverLongerThanTheInstanceAllows() {
    assertThat(Yaml.deployment("berth: {reservation_ttl_s: 300}").reservationTtl())
        .isEqualTo(Duration.ofSeconds(300));
    assertThat(Yaml.deploymentProblems("berth: {reservation_ttl_s: 300.5}"))
        .containsExactly(
            "berth.yaml:5:36: applications[0].deployments[0].berth.reservation_ttl_s: 300.5"
                + " (expected: at most berth.limits.max_reservation_ttl_s, 300)");
    assertThat(
            Yaml.problems(
                """
                berth: {limits: {max_reservation_ttl_s: 5}}
                applications:
                  - import_path: a.B
                    deployments: [{name: d, berth: {reservation_ttl_s: 6}}, {name: e}]
                """))
        .containsExactly(
            "berth.yaml:4:56: applications[0].deployments[0].berth.reservation_ttl_s: 6"
                + " (expected: at most berth.limits.max_reservation_ttl_s, 5)");
  }

  @Test
  void aShortInstanceBoundShortensTheDefaultReservation() {
    LimitOptions tight =
        Yaml.read(Yaml.NO_APPLICATIONS + "berth: {limits: {max_reservation_ttl_s: 5}}")
            .berth()
            .limits();

    assertThat(DeploymentConfig.of("cart").resolve(tight).reservationTtl())
        .isEqualTo(Duration.ofSeconds(5));
    assertThatThrownBy(() -> Yaml.deployment("berth: {reservation_ttl_s: 6}").resolve(tight))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "reservation_ttl_s: 6 (expected: at most berth.limits.max_reservation_ttl_s, 5)");
  }

  @Test
  void valuesFromCodeAreHeldToTheSameRanges() {
    Deployment code = Deployment.of("cart", context -> null);
    assertThatThrownBy(() -> DeploymentConfig.of("#"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("name: # (expected: a non-empty string on one line, without #)");
    assertThatThrownBy(() -> DeploymentConfig.of(code.withNumReplicas(10_001)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("num_replicas: 10001 (expected: an integer from 1 to 10000)");
    assertThatThrownBy(() -> new HttpOptions("0.0.0.0", 65_536, null, Duration.ofSeconds(1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("port: 65536 (expected: an integer from 0 to 65535)");
    assertThatThrownBy(() -> new HttpOptions("0.0.0.0", 0, Duration.ZERO, Duration.ofSeconds(1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "request_timeout_s: 0 (expected: a number of seconds above 0, at most 31536000)");
    assertThatThrownBy(() -> new Backpressure(500, null))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("status_code: 500 (expected: 503 or 429)");
  }

  private static int zombieBound(String... lines) {
    return Yaml.deployment(lines).resolve(LIMITS).maxZombieRequests();
  }
}
