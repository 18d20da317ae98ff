package dev.berth.config;

import static dev.berth.config.Yaml.onlyProblem;
import static dev.berth.config.Yaml.refused;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Deployment;
import dev.berth.api.DeploymentId;
import dev.berth.api.HandlerFactory;
import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.ListType;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.fakes.Replicas;
import dev.berth.metrics.LatencyBuckets;
import dev.berth.replica.HealthCheckSettings;
import dev.berth.replica.ReplicaSpec;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class DeploymentConfigTest {

  @Test
  void anEntryWithOnlyANameOverridesNothing() {
    assertThat(Yaml.deployment()).isEqualTo(DeploymentConfig.of("cart"));
  }

  @Test
  void everyKeyArrives() {
    String said =
        """
        {name: cart, num_replicas: 2, max_ongoing_requests: 3, max_queued_requests: 4,
         backpressure_config: {status_code: 429, retry_after_s: 5}, user_config: {threshold: 0.5},
         graceful_shutdown_timeout_s: 6, health_check_period_s: 1, health_check_timeout_s: 0.5,
         logging_config: {encoding: TEXT, log_level: ERROR, enable_access_log: false},
         rolling_update_percentage: 0.25, max_surge_percent: 50,
         berth: {spread: event_loops, threads: virtual, queue_timeout_s: 7, max_overtake_ms: 500,
           request_timeout_s: 20, reservation_ttl_s: 8, cancel_grace_s: 9, max_zombie_requests: 2,
           max_buffered_body_bytes: 11,
           autoscaling: {count_reserved: false, count_starting: false, stabilization_window_s: 1,
             panic_window_s: 6, panic_threshold: 3},
           max_constructor_retry_count: 12, replica_start_timeout_s: 90, version: v1}}
        """;

    assertThat(
            Yaml.read("applications: [{import_path: a.B, deployments: [" + said + "]}]")
                .applications()
                .get(0)
                .deployments())
        .hasToString(
            "["
                + Yaml.plain(said)
                    .toString()
                    .replace(
                        "version=v1",
                        "version=v1, upstreams=[], fallback=[], replay_bytes=1048576, idempotent=false")
                + "]");
  }

  /** An instance is what a key reaches that says nothing of it; none of an application does. */
  @Test
  void everyKeyOfAnApplicationSaysWhatItReaches() {
    assertThat(keys(ApplicationConfig.SECTION))
        .contains(DeploymentConfig.VERSION, ApplicationConfig.JARS)
        .allSatisfy(
            key -> assertThat(key.reach()).as(key.name()).isNotEqualTo(ChangeReach.INSTANCE));
  }

  private static Stream<ConfigKey<?>> keys(Section section) {
    return section.keys().stream()
        .flatMap(
            key ->
                key.type() instanceof ListType<?> list && list.item() instanceof Section item
                    ? keys(item)
                    : key.merged() ? keys((Section) key.type()) : Stream.of(key));
  }

  @Test
  void nothingSetResolvesToTheDefaults() {
    assertThat(DeploymentConfig.of("cart"))
        .hasToString(
            "{name=cart, num_replicas=1, max_ongoing_requests=5, max_queued_requests=-1,"
                + " backpressure_config={status_code=503}, user_config={},"
                + " graceful_shutdown_timeout_s=20, health_check_period_s=10,"
                + " health_check_timeout_s=30, logging_config={encoding=TEXT, log_level=INFO,"
                + " enable_access_log=false}, rolling_update_percentage=0.2, max_surge_percent=20,"
                + " berth={spread=single, threads=platform, queue_timeout_s=60,"
                + " max_overtake_ms=1000, reservation_ttl_s=10, cancel_grace_s=10, max_zombie_requests=5, max_buffered_body_bytes=4194304,"
                + " autoscaling={count_reserved=true, count_starting=true,"
                + " stabilization_window_s=0, panic_threshold=2},"
                + " max_constructor_retry_count=20, upstreams=[], fallback=[],"
                + " replay_bytes=1048576, idempotent=false}}");
  }

  @Test
  void theFileWinsOverCodeAndCodeOverTheDefaults() {
    Deployment code =
        Deployment.of("cart", context -> null)
            .withNumReplicas(4)
            .withMaxOngoingRequests(7)
            .withSpreadOverLoops(true)
            .withUserConfig(Map.of("from", "code"));
    Settings file =
        Yaml.deployment("num_replicas: 2", "berth: {queue_timeout_s: 1}", "max_surge_percent: 0");

    Settings settings = file.over(DeploymentConfig.of(code));

    assertThat(settings.get(DeploymentConfig.NUM_REPLICAS)).isEqualTo(2);
    assertThat(settings.get(DeploymentConfig.MAX_ONGOING_REQUESTS)).isEqualTo(7);
    assertThat(settings.get(DeploymentConfig.MAX_ZOMBIE_REQUESTS)).isEqualTo(7);
    assertThat(settings.get(DeploymentConfig.SPREAD)).isEqualTo(HandlerSpread.EVENT_LOOPS);
    assertThat(settings.get(DeploymentConfig.USER_CONFIG)).isEqualTo(Map.of("from", "code"));
    assertThat(settings.get(DeploymentConfig.QUEUE_TIMEOUT_S)).isEqualTo(Duration.ofSeconds(1));
    assertThat(settings.get(DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S))
        .isEqualTo(Duration.ofSeconds(20));
    assertThat(settings.get(DeploymentConfig.MAX_SURGE_PERCENT)).isZero();
  }

  @Test
  void whatIsSaidOfARolloutIsKeptToItsRange() {
    onlyProblem(Yaml.deploymentProblems("berth: {max_constructor_retry_count: 0}"))
        .endsWith("max_constructor_retry_count: 0 (expected: an integer from 1 to 1000000)");
    assertThat(Yaml.deployment("rolling_update_percentage: null", "max_surge_percent: null"))
        .isEqualTo(DeploymentConfig.of("cart"));
    refused(
        () -> DeploymentConfig.of("cart").with(DeploymentConfig.ROLLING_UPDATE_PERCENTAGE, 0.0),
        "rolling_update_percentage: 0 (expected: a number above 0, at most 1)");
  }

  @Test
  void userConfigAndBackpressureAreOverriddenAsAWhole() {
    Deployment code = Deployment.of("cart", context -> null).withUserConfig(Map.of("a", 1, "b", 2));
    Settings file = Yaml.deployment("user_config: {a: 3}");

    assertThat(file.over(DeploymentConfig.of(code)).get(DeploymentConfig.USER_CONFIG))
        .isEqualTo(Map.of("a", 3));
  }

  @Test
  void aNullInTheUserConfigReachesTheReplica() {
    Map<String, Object> userConfig =
        Yaml.deployment("user_config: {limit: null}").get(DeploymentConfig.USER_CONFIG);
    HandlerFactory factory = context -> null;

    assertThat(Deployment.of("cart", factory).withUserConfig(userConfig).userConfig())
        .containsEntry("limit", null);
    DeploymentId id = new DeploymentId("shop", "cart");
    HealthCheckSettings checks = Replicas.HEALTH_CHECKS;
    ReplicaSpec spec =
        new ReplicaSpec(
            "r",
            id,
            1,
            1,
            userConfig,
            factory,
            null,
            checks,
            new LatencyBuckets(),
            false,
            null,
            "");
    assertThat(spec.userConfig()).containsEntry("limit", null);
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
    assertThat(
            Yaml.deployment("berth: {reservation_ttl_s: 300}")
                .get(DeploymentConfig.RESERVATION_TTL_S))
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
    Settings tight = Yaml.options("berth: {limits: {max_reservation_ttl_s: 5}}").settings();

    assertThat(DeploymentConfig.of("cart").within(tight).get(DeploymentConfig.RESERVATION_TTL_S))
        .isEqualTo(Duration.ofSeconds(5));
    refused(
        () -> Yaml.deployment("berth: {reservation_ttl_s: 6}").within(tight).checkBounds(),
        "reservation_ttl_s: 6 (expected: at most berth.limits.max_reservation_ttl_s, 5)");
  }

  @Test
  void valuesFromCodeAreHeldToTheSameRanges() {
    Deployment code = Deployment.of("cart", context -> null);
    refused(
        () -> DeploymentConfig.of("#"),
        "name: # (expected: a non-empty string on one line, without #)");
    refused(
        () -> DeploymentConfig.of(code.withNumReplicas(10_001)),
        "num_replicas: 10001 (expected: auto, or an integer from 1 to 10000)");
    refused(
        () -> ServeConfig.DEFAULTS.with(HttpOptions.PORT, 65_536),
        "port: 65536 (expected: an integer from 0 to 65535)");
    refused(
        () -> ServeConfig.DEFAULTS.with(HttpOptions.REQUEST_TIMEOUT_S, Duration.ZERO),
        "request_timeout_s: 0 (expected: a number of seconds above 0, at most 31536000)");
    refused(
        () -> Backpressure.DEFAULTS.with(Backpressure.STATUS_CODE, 500),
        "status_code: 500 (expected: 503 or 429)");
  }

  private static int zombieBound(String... lines) {
    return Yaml.deployment(lines).get(DeploymentConfig.MAX_ZOMBIE_REQUESTS);
  }
}
