package dev.berth.config;

import static dev.berth.config.Yaml.onlyProblem;
import static dev.berth.config.Yaml.onlyRefusal;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Settings;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AutoscalingOptionsTest {

  private static final String AT = "applications[0].deployments[0].";

  private static Settings autoscaling(String config) {
    return Yaml.deployment("autoscaling_config: " + config)
        .get(DeploymentConfig.AUTOSCALING_CONFIG);
  }

  private static <T> T of(String config, ConfigKey<T> key) {
    return autoscaling(config).get(key);
  }

  @Test
  void theDefaultsAreThoseOfRayServe() {
    assertThat(autoscaling("{}"))
        .hasToString(
            "{min_replicas=1, max_replicas=1, target_ongoing_requests=2, metrics_interval_s=10,"
                + " look_back_period_s=30, aggregation_function=mean, smoothing_factor=1,"
                + " upscale_smoothing_factor=1, downscale_smoothing_factor=1, upscaling_factor=1,"
                + " downscaling_factor=1, upscale_delay_s=30, downscale_delay_s=600,"
                + " downscale_to_zero_delay_s=600}");
  }

  @Test
  void whatIsOursIsRayServesWayOnlyWhenAskedTo() {
    String ray =
        "{count_reserved=false, count_starting=false, stabilization_window_s=60, panic_window_s=6,"
            + " panic_threshold=1.5}";

    assertThat(Yaml.deployment("autoscaling_config: {}").get(DeploymentConfig.AUTOSCALING))
        .hasToString(
            "{count_reserved=true, count_starting=true, stabilization_window_s=0,"
                + " panic_threshold=2}");
    assertThat(
            Yaml.deployment("berth: {autoscaling: " + ray.replace("=", ": ") + "}")
                .get(DeploymentConfig.AUTOSCALING))
        .hasToString(ray);
  }

  @Test
  void anOlderNameOfAFactorHoldsUnlessTheNewOneIsSaid() {
    String older = "{smoothing_factor: 0.5, upscale_smoothing_factor: 0.7}";
    String both = "{upscale_smoothing_factor: 0.7, upscaling_factor: 3}";

    assertThat(of(older, AutoscalingOptions.UPSCALING_FACTOR)).isEqualTo(0.7);
    assertThat(of(older, AutoscalingOptions.DOWNSCALING_FACTOR)).isEqualTo(0.5);
    assertThat(of(both, AutoscalingOptions.UPSCALING_FACTOR)).isEqualTo(3);
    assertThat(of(both, AutoscalingOptions.DOWNSCALING_FACTOR)).isEqualTo(1);
  }

  private static List<ConfigProblem> warnings(String keys) {
    return Yaml.read(
            "applications: [{import_path: a.B, deployments: [{name: d, autoscaling_config: {%s}}]}]"
                .formatted(keys))
        .warnings();
  }

  @Test
  void whatIsDeprecatedIsNamedAndStillHolds() {
    List<ConfigProblem> warnings =
        warnings(
            "metrics_interval_s: 15, smoothing_factor: 2, upscale_smoothing_factor: 1,"
                + " downscale_smoothing_factor: null, policy: {name: com.acme.Pace}");

    assertThat(warnings)
        .extracting(each -> each.path().replaceAll(".*config\\.", "") + ": " + each.value())
        .containsExactly(
            "metrics_interval_s: deprecated",
            "smoothing_factor: deprecated",
            "upscale_smoothing_factor: deprecated",
            "policy.name: deprecated");
    assertThat(warnings).allSatisfy(each -> assertThat(each.isWarning()).isTrue());
    assertThat(warnings.get(0)).asString().endsWith("(expected: berth.metrics.push_interval_ms)");
    assertThat(warnings.get(2)).asString().endsWith("(expected: upscaling_factor)");
  }

  @Test
  void aWindowThatIsNoLongerThanTheReportsOfRayServeIsWarnedOf() {
    assertThat(warnings("metrics_interval_s: 5, look_back_period_s: 5").get(1))
        .asString()
        .endsWith(
            "look_back_period_s: 5, no longer than metrics_interval_s (expected: more than 5)");
    assertThat(warnings("metrics_interval_s: 5, look_back_period_s: 5.1")).hasSize(1);
  }

  @Test
  void autoIsRayServesAndWhatIsSaidBesideItOverridesIt() {
    Settings auto = Yaml.deployment("num_replicas: auto", "autoscaling_config: {}");
    Settings some =
        Yaml.deployment(
            "num_replicas: auto", "autoscaling_config: {min_replicas: 5, max_replicas: 7}");
    Settings few =
        Yaml.deployment("num_replicas: auto", "autoscaling_config: {}", "max_replicas_per_node: 4");

    assertThat(max(auto)).isEqualTo(100);
    assertThat(max(some)).isEqualTo(7);
    assertThat(max(few)).isEqualTo(4);
    assertThat(DeploymentConfig.autoscales(Yaml.deployment("num_replicas: auto"))).isTrue();
    assertThat(DeploymentConfig.autoscales(Yaml.deployment("num_replicas: 1"))).isFalse();
  }

  private static int max(Settings deployment) {
    return deployment.get(DeploymentConfig.AUTOSCALING_CONFIG).get(AutoscalingOptions.MAX_REPLICAS);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{min_replicas: 3, max_replicas: 2} | min_replicas: 3 (expected: at most max_replicas, 2)",
        "{min_replicas: 3} | min_replicas: 3 (expected: at most max_replicas, 1)",
        "{min_replicas: 2, initial_replicas: 1, max_replicas: 4}"
            + " | initial_replicas: 1 (expected: at least min_replicas, 2)",
        "{initial_replicas: 5, max_replicas: 4}"
            + " | initial_replicas: 5 (expected: at most max_replicas, 4)",
        "{initial_replicas: 0} | initial_replicas: 0 (expected: at least min_replicas, 1)",
        "{max_replicas: 0} | max_replicas: 0 (expected: an integer from 1 to 10000)",
        "{max_replicas: 10001} | max_replicas: 10001 (expected: an integer from 1 to 10000)",
        "{min_replicas: -1} | min_replicas: -1 (expected: an integer from 0 to 10000)",
        "{min_replicas: 1.5} | 1.5, a number with a fraction (expected: an integer from 0",
        "{target_ongoing_requests: 0} | 0 (expected: a number above 0, at most 1000000)",
        "{target_ongoing_requests: .nan} | (expected: a number above 0, at most 1000000)",
        "{upscaling_factor: 0} | upscaling_factor: 0 (expected: a number above 0, at most",
        "{downscaling_factor: -1} | downscaling_factor: -1 (expected: a number above 0, at most",
        "{smoothing_factor: 0} | smoothing_factor: 0 (expected: a number above 0, at most",
        "{upscale_smoothing_factor: 0} | upscale_smoothing_factor: 0 (expected: a number above 0",
        "{metrics_interval_s: 0} | metrics_interval_s: 0 (expected: a number of seconds above 0",
        "{look_back_period_s: 0} | look_back_period_s: 0 (expected: a number of seconds above 0",
        "{upscale_delay_s: -1} | upscale_delay_s: -1 (expected: a number of seconds from 0",
        "{downscale_to_zero_delay_s: x} | (expected: a number of seconds from 0 to 31536000)",
        "{aggregation_function: sum} | \"sum\", a string (expected: mean, max or min)",
        "{policy: {policy_function: 'a-b'}} | (expected: a Java class, such as com.acme.Pace)",
        "{policy: {policy_kwargs: [1]}} | policy.policy_kwargs: a list (expected: a mapping)",
        "{policy: com.acme.Pace} | policy: \"com.acme.Pace\", a string (expected: a mapping)",
        "{target_num_ongoing_requests_per_replica: 1}"
            + " | does not belong here (expected: target_ongoing_requests)",
        "{max_replica: 1} | unknown key, did you mean max_replicas?"
      })
  void everyRuleOfRayServeRefusesAtItsPlace(String config, String problem) {
    onlyRefusal(Yaml.deploymentProblems("autoscaling_config: " + config))
        .startsWith("berth.yaml:5:")
        .contains(AT + "autoscaling_config.")
        .contains(problem);
  }

  @Test
  void everyProblemIsToldAtOnce() {
    assertThat(
            Yaml.deploymentProblems(
                "num_replicas: 2",
                "autoscaling_config:",
                "  min_replicas: 4",
                "  max_replicas: 2",
                "  initial_replicas: 3",
                "berth: {autoscaling: {panic_threshold: 0.5, panic_window_s: 31}}"))
        .extracting(each -> each.replace(AT, "").replace("autoscaling_config.", "ac."))
        .containsExactly(
            "berth.yaml:5:23: num_replicas: 2, with autoscaling_config (expected: only one of the two, or auto)",
            "berth.yaml:7:25: ac.min_replicas: 4 (expected: at most max_replicas, 2)",
            "berth.yaml:9:29: ac.initial_replicas: 3 (expected: at least min_replicas, 4)",
            "berth.yaml:9:29: ac.initial_replicas: 3 (expected: at most max_replicas, 2)",
            "berth.yaml:10:48: berth.autoscaling.panic_threshold: 0.5 (expected: a number from 1 to"
                + " 1000)",
            "berth.yaml:10:69: berth.autoscaling.panic_window_s: 31 (expected: at most"
                + " ac.look_back_period_s, 30)");
  }

  @Test
  void noNumberIsBesideOneThatFollowsTheLoadButNullOrAuto() {
    assertThat(Yaml.deploymentProblems("num_replicas: null", "autoscaling_config: {}")).isEmpty();
    assertThat(Yaml.deploymentProblems("num_replicas: 3", "autoscaling_config: null")).isEmpty();
    onlyProblem(Yaml.deploymentProblems("num_replicas: -1"))
        .endsWith("-1, an integer (expected: auto, or an integer from 1 to 10000)");
    onlyProblem(Yaml.deploymentProblems("num_replicas: 0"))
        .endsWith("num_replicas: 0 (expected: auto, or an integer from 1 to 10000)");
    onlyProblem(Yaml.deploymentProblems("num_replicas: many"))
        .endsWith("\"many\", a string (expected: auto, or an integer from 1 to 10000)");
  }

  @Test
  void whatIsScaledFromOutsideIsNotScaledHereToo() {
    String both =
        "deployments: [{name: a, num_replicas: auto}, {name: b}, {name: c, autoscaling_config: {}}]";

    assertThat(Yaml.applicationProblems("external_scaler_enabled: true", both))
        .containsExactly(
            "berth.yaml:3:30: applications[0].external_scaler_enabled: true, with autoscaling of a, c (expected: false, or no autoscaling in the application)");
    assertThat(Yaml.applicationProblems("external_scaler_enabled: false", both)).isEmpty();
  }

  @Test
  void aPolicyIsAClassOrRayServesOwn() {
    assertThat(policy("com.acme.Pace")).isEqualTo("com.acme.Pace");
    assertThat(policy("com.acme:Pace")).isEqualTo("com.acme.Pace");
    assertThat(policy("ray.serve.autoscaling_policy:default_autoscaling_policy")).isNull();
    assertThat(AutoscalingOptions.policyClass(null)).isNull();
    assertThat(
            of(
                    "{policy: {policy_function: a.B, policy_kwargs: {rate: 2}}}",
                    AutoscalingOptions.POLICY)
                .get(AutoscalingOptions.POLICY_KWARGS))
        .isEqualTo(Map.of("rate", 2));
    assertThat(
            AutoscalingOptions.policyClass(
                Yaml.application("autoscaling_policy: {policy_function: a.B}")
                    .settings()
                    .find(ApplicationConfig.AUTOSCALING_POLICY)))
        .isEqualTo("a.B");
  }

  private static String policy(String name) {
    return AutoscalingOptions.policyClass(
        autoscaling("{policy: {policy_function: '" + name + "'}}").find(AutoscalingOptions.POLICY));
  }

  @Test
  void autoIsToldAsItWasSaid() {
    assertThat(Yaml.deployment("num_replicas: auto").json()).containsEntry("num_replicas", "auto");
  }
}
