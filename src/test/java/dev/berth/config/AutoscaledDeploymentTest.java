package dev.berth.config;

import static dev.berth.config.Yaml.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Deployment;
import dev.berth.api.Deployment.Autoscaling;
import dev.berth.config.keys.Settings;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a deployment runs with when file, code and capacity are known. */
class AutoscaledDeploymentTest {

  private static final Deployment FIXED = Deployment.of("cart", context -> null).withNumReplicas(4);
  private static final Deployment SCALED = FIXED.withAutoscaling(new Autoscaling(2, 8, 3));

  private static Settings file(Deployment code, String... lines) {
    return Yaml.read(text(lines)).applications().get(0).deployment(code);
  }

  private static String text(String... lines) {
    return "applications: [{import_path: a.B, deployments: [{name: cart"
        + String.join("", lines)
        + "}]}]";
  }

  private static @Nullable String bounds(Settings settings) {
    Settings config = settings.find(DeploymentConfig.AUTOSCALING_CONFIG);
    return config == null
        ? null
        : config.get(AutoscalingOptions.MIN_REPLICAS)
            + " to "
            + config.get(AutoscalingOptions.MAX_REPLICAS);
  }

  private static int replicas(Settings settings) {
    return settings.get(DeploymentConfig.NUM_REPLICAS);
  }

  @Test
  void anInstanceIsOneNodeUnlessItIsOneOfSeveral() {
    String cluster =
        ", berth: {cluster: {name: c, node: n, role: worker, bind: 127.0.0.1, insecure: true,"
            + " join: ['127.0.0.1:1']}}";
    String four = text(", max_replicas_per_node: 3");
    String eight = text(", max_replicas_per_node: 3, autoscaling_config: {max_replicas: 8}");
    String auto = text(", max_replicas_per_node: 3, num_replicas: auto");

    refused(
        () -> first(four),
        "num_replicas: 4 (expected: at most max_replicas_per_node, 3, on one node)");
    refused(
        () -> first(eight),
        "max_replicas: 8 (expected: at most max_replicas_per_node, 3, on one node)");
    assertThat(bounds(first(auto))).isEqualTo("1 to 3");
    assertThat(replicas(first("{" + four + cluster + "}"))).isEqualTo(4);
    assertThat(bounds(first("{" + eight + cluster + "}"))).isEqualTo("1 to 8");
    assertThat(bounds(first("{" + auto + cluster + "}"))).isEqualTo("1 to 100");
  }

  private static Settings first(String text) {
    return Yaml.read(text).applications().get(0).deployment(FIXED);
  }

  @Test
  void codeSaysItAsItSaysANumber() {
    Settings said = file(SCALED);

    assertThat(bounds(said)).isEqualTo("2 to 8");
    assertThat(replicas(said)).isEqualTo(2);
    assertThat(
            said.get(DeploymentConfig.AUTOSCALING_CONFIG)
                .get(AutoscalingOptions.TARGET_ONGOING_REQUESTS))
        .isEqualTo(3);
    assertThat(bounds(file(SCALED.withNumReplicas(3)))).isNull();
    refused(
        () -> file(FIXED.withAutoscaling(new Autoscaling(3, 2, 1))),
        "min_replicas: 3 (expected: at most max_replicas, 2)");
    assertThatThrownBy(() -> file(FIXED.withAutoscaling(new Autoscaling(0, 10_001, 1))))
        .hasMessage("max_replicas: 10001 (expected: an integer from 1 to 10000)");
    assertThatThrownBy(() -> file(FIXED.withAutoscaling(new Autoscaling(0, 1, 0))))
        .hasMessage("target_ongoing_requests: 0 (expected: a number above 0, at most 1000000)");
  }

  @Test
  void theFileWinsOverCodeWhicheverOfTheTwoItSays() {
    Settings number = file(SCALED, ", num_replicas: 5");
    Settings load = file(FIXED, ", autoscaling_config: {max_replicas: 6}");
    Settings other = file(SCALED, ", autoscaling_config: {max_replicas: 6}");

    assertThat(bounds(number)).isNull();
    assertThat(replicas(number)).isEqualTo(5);
    assertThat(bounds(load)).isEqualTo("1 to 6");
    assertThat(replicas(load)).isEqualTo(1);
    assertThat(bounds(other)).as("overridden as a whole").isEqualTo("1 to 6");
    assertThat(bounds(file(FIXED))).isNull();
  }

  @Test
  void autoIsBetweenOneAndAHundredUnlessSomethingElseIsSaid() {
    Settings auto = file(FIXED, ", num_replicas: auto");

    assertThat(bounds(auto)).isEqualTo("1 to 100");
    assertThat(replicas(auto)).isEqualTo(1);
    assertThat(bounds(file(SCALED, ", num_replicas: auto"))).isEqualTo("2 to 8");
    assertThat(bounds(file(FIXED, ", num_replicas: auto, autoscaling_config: {min_replicas: 3}")))
        .isEqualTo("3 to 100");
  }

  @Test
  void itBeginsWithInitialReplicasOrElseTheFewest() {
    String config = ", autoscaling_config: {min_replicas: 0, max_replicas: 9%s}";

    assertThat(replicas(file(FIXED, config.formatted("")))).isZero();
    assertThat(replicas(file(FIXED, config.formatted(", initial_replicas: 5")))).isEqualTo(5);
  }

  @Test
  void codeThatAutoscalesIsNotScaledFromOutside() {
    String text = "applications: [{import_path: a.B, external_scaler_enabled: true}]";

    refused(
        () -> Yaml.read(text).applications().get(0).deployment(SCALED),
        "external_scaler_enabled: true, with autoscaling of cart (expected: false, or no autoscaling)");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // capacity | it rose | bounds | first
        "50  | false | 2 to 10 | 4",
        "50  | true  | 4 to 10 | 4",
        "100 | true  | 7 to 20 | 7",
        "1   | false | 1 to 1  | 1",
        "0   | true  | 0 to 0  | 0"
      })
  void targetCapacityScalesTheBoundsAndHoldsTheInitialNumberWhileItRises(
      double capacity, boolean rises, String bounds, int first) {
    Settings all =
        file(
            FIXED,
            ", autoscaling_config: {min_replicas: 3, max_replicas: 20, initial_replicas: 7}");

    Settings share = DeploymentConfig.atCapacity(all, capacity, rises);

    assertThat(bounds(share)).isEqualTo(bounds);
    assertThat(replicas(share)).isEqualTo(first);
    assertThat(DeploymentConfig.atCapacity(all, null, rises)).isEqualTo(all);
  }
}
