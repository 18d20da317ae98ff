package dev.berth.config;

import static dev.berth.config.Yaml.onlyProblem;
import static dev.berth.config.Yaml.onlyRefusal;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Ray Serve's keys that one JVM cannot mean: each is warned of, or refused, by name. */
class RayOnlyTest {

  /** A file of Ray Serve's with every key that it has, none of them asking for what is missing. */
  private static final String EVERY_KEY =
      """
      proxy_location: EveryNode
      http_options: {host: 0.0.0.0, port: 8000, root_path: "", num_cpus: 0}
      grpc_options:
        {port: 9000, grpc_servicer_functions: [], request_timeout_s: 5, enable_reflection: true}
      controller_options: {runtime_env: {env_vars: {A: b}}}
      logging_config:
        encoding: TEXT
        log_level: INFO
        logs_dir: /l
        enable_access_log: true
        additional_log_standard_attrs: [name]
      tracing_config: {enabled: false, exporter_import_path: "a:b", sampling_ratio: 0.01}
      target_capacity: 50
      applications:
        - name: a
          route_prefix: /
          import_path: a.B
          external_scaler_enabled: false
          autoscaling_policy: null
          args: {}
          runtime_env:
            py_modules: []
            py_executable: p
            pip: [numpy]
            uv: [numpy]
            conda: {}
            excludes: []
            config: {}
            working_dir: null
          deployments:
            - name: d
              num_replicas: 2
              max_ongoing_requests: 5
              max_queued_requests: -1
              backpressure_config: {status_code: 503, retry_after_s: null}
              user_config: {}
              autoscaling_config: null
              graceful_shutdown_wait_loop_s: 2
              graceful_shutdown_timeout_s: 20
              health_check_period_s: 10
              health_check_timeout_s: 30
              ray_actor_options:
                runtime_env: {pip: [numpy]}
                num_cpus: 0.5
                num_gpus: 1
                memory: 1000000000
                resources: {TPU: 1}
                accelerator_type: L4
                label_selector: {zone: a}
                fallback_strategy: [{label_selector: {zone: b}}]
              placement_group_bundles: [{CPU: 1}]
              placement_group_strategy: STRICT_PACK
              placement_group_bundle_label_selector: [{zone: a}]
              max_replicas_per_node: 2
              logging_config: null
              request_router_config:
                request_router_class: ray.serve._private.request_router:PowerOfTwoChoicesRequestRouter
                request_router_kwargs: {}
                request_routing_stats_period_s: 10
                request_routing_stats_timeout_s: 30
                initial_backoff_s: 0.025
                backoff_multiplier: 2
                max_backoff_s: 0.5
              gang_scheduling_config: null
              deployment_actors: []
              rolling_update_percentage: 0.2
              max_surge_percent: 0
      """;

  @Test
  void aFileWithEveryKeyOfRayServeIsReadAndEveryKeyWithoutEffectIsNamed() {
    List<ConfigProblem> warnings = Yaml.read(EVERY_KEY).warnings();

    Map<String, List<String>> byMapping = new LinkedHashMap<>();
    for (ConfigProblem each : warnings) {
      int name = each.path().lastIndexOf('.') + 1;
      byMapping
          .computeIfAbsent(each.path().substring(0, name), mapping -> new ArrayList<>())
          .add(each.path().substring(name));
    }
    assertThat(byMapping)
        .hasToString(
            """
            {http_options.=[num_cpus],
             =[grpc_options, controller_options, tracing_config],
             logging_config.=[logs_dir, additional_log_standard_attrs],
             applications[0].runtime_env.=[py_modules, py_executable, pip, uv, conda, excludes,
             config],
             applications[0].deployments[0].=[graceful_shutdown_wait_loop_s,
             placement_group_bundles, placement_group_strategy,
             placement_group_bundle_label_selector],
             applications[0].deployments[0].ray_actor_options.runtime_env.=[pip],
             applications[0].deployments[0].ray_actor_options.=[num_cpus, num_gpus, memory,
             resources, accelerator_type, label_selector, fallback_strategy],
             applications[0].deployments[0].request_router_config.=[request_routing_stats_period_s,
             request_routing_stats_timeout_s, initial_backoff_s, backoff_multiplier, max_backoff_s]}
            """
                .replace("\n", ""));
    assertThat(warnings)
        .allSatisfy(
            warning -> {
              assertThat(warning.line()).isPositive();
              assertThat(warning.value()).startsWith("has no effect: ");
            });
  }

  @Test
  void aWarningHasThePlaceOfItsKey() {
    assertThat(Yaml.options("tracing_config: {enabled: true}").warnings())
        .singleElement()
        .hasToString(
            "berth.yaml:2:1: warning: tracing_config: has no effect: spans are not created; the header traceparent is passed on (expected: leave it out)");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "proxy_location: Disabled",
        "grpc_options: {grpc_servicer_functions: ['a:b']}",
        "http_options: {middlewares: [a]}",
      })
  void whatWouldMisleadIsRefusedAtTheTop(String line) {
    onlyRefusal(Yaml.optionProblems(line))
        .startsWith("berth.yaml:2:")
        .contains("not supported by this version: ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "runtime_env: {working_dir: /x}",
        "runtime_env: {env_vars: {A: b}}",
        "runtime_env: {image_uri: x}",
        "runtime_env: {container: {}}"
      })
  void whatWouldMisleadIsRefusedInAnApplication(String line) {
    onlyProblem(Yaml.applicationProblems(line)).contains("not supported by this version: ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "gang_scheduling_config: {gang_size: 2}",
        "deployment_actors: [{name: a}]",
        "ray_actor_options: {runtime_env: {working_dir: /x}}"
      })
  void whatWouldMisleadIsRefusedInADeployment(String line) {
    onlyProblem(Yaml.deploymentProblems(line)).contains("not supported by this version: ");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "rolling_update_percentage: 0 | a number above 0, at most 1",
        "rolling_update_percentage: 1.1 | a number above 0, at most 1",
        "max_surge_percent: 101 | a number from 0 to 100",
        "max_surge_percent: x | a number from 0 to 100",
        "max_replicas_per_node: 101 | an integer from 1 to 100",
        "placement_group_bundles: {} | a list",
        "placement_group_bundles: [x] | a mapping",
        "placement_group_strategy: pack | PACK, SPREAD, STRICT_PACK or STRICT_SPREAD",
        "placement_group_bundle_label_selector: [{a: 1}] | with a value that is not a string",
        "ray_actor_options: {num_gpus: -1} | a number >= 0",
        "ray_actor_options: {num_gpu: 1} | did you mean num_gpus?",
        "ray_actor_options: {runtime_env: {jars: []}} | applications[].runtime_env.jars",
        "request_router_config: {request_router_class: 'ray.serve.llm:PrefixCacheRouter'} | round_robin",
        "request_router_config: {max_backoff_s: -1} | a number of seconds from 0 to 31536000",
        "max_concurrent_queries: 5 | max_ongoing_requests"
      })
  void whatHasNoEffectIsCheckedAllTheSame(String line, String expected) {
    onlyRefusal(Yaml.deploymentProblems(line)).contains(expected);
  }

  @ParameterizedTest
  @CsvSource({
    "1, 100, 1",
    "1, 1, 1",
    "4, 50, 2",
    "5, 50, 3",
    "3, 50, 2",
    "10, 4, 1",
    "10, 0, 0",
    "3, 99, 3",
    "1000, 0.15, 2",
    "10000, 99.9, 9990"
  })
  void targetCapacityIsRoundedHalfUpAndLeavesOneUnlessItIsZero(
      int replicas, double percent, int running) {
    Settings all = Yaml.deployment("num_replicas: " + replicas);

    assertThat(at(percent, all).get(DeploymentConfig.NUM_REPLICAS)).isEqualTo(running);
    assertThat(at(100.0, all)).isEqualTo(all).isEqualTo(at(null, all));
    assertThat(
            at(percent, DeploymentConfig.withReplicas(all, 0)).get(DeploymentConfig.NUM_REPLICAS))
        .isZero();
  }

  private static Settings at(Double percent, Settings all) {
    return DeploymentConfig.atCapacity(all, percent, false);
  }

  @Test
  void targetCapacityIsAPercentage() {
    assertThat(Yaml.read(Yaml.NO_APPLICATIONS).find(ServeConfig.TARGET_CAPACITY)).isNull();
    assertThat(Yaml.options("target_capacity: 12.5").find(ServeConfig.TARGET_CAPACITY))
        .isEqualTo(12.5);
    assertThat(Yaml.optionProblems("target_capacity: 101"))
        .containsExactly(
            "berth.yaml:2:18: target_capacity: 101 (expected: a number from 0 to 100)");
  }

  @Test
  void aKeyIsEitherReadOrRefused() {
    List<Section> sections = new ArrayList<>(List.of(ServeConfig.SECTION));
    List<Reference.Row> rows = new ArrayList<>();
    Reference.collect(ServeConfig.SECTION, "", rows);
    rows.stream()
        .flatMap(row -> Stream.ofNullable(Reference.mapping(row.key())))
        .forEach(sections::add);

    assertThat(sections)
        .allSatisfy(
            section ->
                assertThat(section.keys())
                    .extracting(ConfigKey::name)
                    .doesNotHaveDuplicates()
                    .noneMatch(section.refusals()::containsKey));
  }
}
