package dev.berth.config;

import static dev.berth.config.Yaml.onlyProblem;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SectionTest {

  @Test
  void anUnknownKeyIsRefusedAtEveryLevelWithTheNearestName() {
    assertThat(
            Yaml.problems(
                """
                aplications: []
                applications:
                  - import_path: a.B
                    rout_prefix: /
                    runtime_env: {jar: []}
                    deployments:
                      - name: d
                        numReplicas: 2
                        backpressure_config: {status: 503}
                        berth: {spraed: single}
                berth:
                  eventloops: 2
                  admin: {prot: 1}
                  limits: {max_queue_total: 1}
                  metrics: {push_intervall_ms: 1000}
                """))
        .extracting(problem -> problem.replaceFirst(" \\(expected.*", ""))
        .containsExactly(
            "berth.yaml:1:1: aplications: unknown key, did you mean applications?",
            "berth.yaml:4:5: applications[0].rout_prefix: unknown key, did you mean route_prefix?",
            "berth.yaml:5:19: applications[0].runtime_env.jar: unknown key, did you mean jars?",
            "berth.yaml:8:9: applications[0].deployments[0].numReplicas: unknown key,"
                + " did you mean num_replicas?",
            "berth.yaml:9:31: applications[0].deployments[0].backpressure_config.status:"
                + " unknown key",
            "berth.yaml:10:17: applications[0].deployments[0].berth.spraed: unknown key,"
                + " did you mean spread?",
            "berth.yaml:12:3: berth.eventloops: unknown key, did you mean event_loops?",
            "berth.yaml:13:11: berth.admin.prot: unknown key, did you mean port?",
            "berth.yaml:14:12: berth.limits.max_queue_total: unknown key,"
                + " did you mean max_queued_total?",
            "berth.yaml:15:13: berth.metrics.push_intervall_ms: unknown key,"
                + " did you mean push_interval_ms?");
  }

  @Test
  void aKeyInTheWrongMappingIsSentToTheRightOne() {
    assertThat(Yaml.optionProblems("port: 8000\nmax_body_bytes: 1\ncolour: blue\n"))
        .extracting(
            problem ->
                problem.replace(
                    " (expected: one of http_options, logging_config, applications, berth,"
                        + " proxy_location, target_capacity)",
                    "; those there are"))
        .containsExactly(
            "berth.yaml:2:1: port: unknown key, did you mean http_options.port?; those there are",
            "berth.yaml:3:1: max_body_bytes: unknown key,"
                + " did you mean berth.limits.max_body_bytes?; those there are",
            "berth.yaml:4:1: colour: unknown key; those there are");
    onlyProblem(Yaml.applicationProblems("num_replicas: 2"))
        .contains("did you mean applications[].deployments[].num_replicas?");
  }

  @Test
  void aKeyGivenTwiceIsRefusedAtItsSecondPlace() {
    assertThat(Yaml.deploymentProblems("num_replicas: 1", "num_replicas: 2"))
        .containsExactly(
            "berth.yaml:6:9: applications[0].deployments[0].num_replicas: given twice"
                + " (expected: once; it is on line 5 already)");
    assertThat(Yaml.problems("applications: []\napplications: []"))
        .containsExactly(
            "berth.yaml:2:1: applications: given twice"
                + " (expected: once; it is on line 1 already)");
  }

  @Test
  void aKeyThatIsNoNameIsRefused() {
    assertThat(Yaml.optionProblems("5: x\n[a]: y\n"))
        .containsExactly(
            "berth.yaml:2:1: 5, an integer as a key (expected: a name)",
            "berth.yaml:3:1: a list as a key (expected: a name)");
  }

  @Test
  void nullIsNoValueExceptWhereItMeansUnset() {
    assertThat(Yaml.problems("applications:\nhttp_options: {port: null, host: ~}"))
        .containsExactly(
            "berth.yaml:1:14: applications: null (expected: a list of mappings)",
            "berth.yaml:2:22: http_options.port: null (expected: an integer from 0 to 65535)",
            "berth.yaml:2:34: http_options.host: null (expected: a non-empty string on one line)");
    assertThat(Yaml.optionProblems("http_options: {request_timeout_s: null}")).isEmpty();
    assertThat(
            Yaml.deployment(
                "num_replicas: null",
                "user_config: null",
                "backpressure_config: {retry_after_s: null}"))
        .satisfies(
            deployment -> {
              assertThat(deployment.gives(DeploymentConfig.NUM_REPLICAS)).isFalse();
              assertThat(deployment.gives(DeploymentConfig.USER_CONFIG)).isFalse();
              assertThat(deployment.get(DeploymentConfig.BACKPRESSURE_CONFIG))
                  .isEqualTo(Backpressure.DEFAULTS);
            });
  }

  @Test
  void aMappingMustBeOne() {
    assertThat(Yaml.problems("applications: {}\nberth: [1]\nhttp_options: 8000\n"))
        .containsExactly(
            "berth.yaml:1:15: applications: a mapping (expected: a list of mappings)",
            "berth.yaml:2:8: berth: a list (expected: a mapping)",
            "berth.yaml:3:15: http_options: 8000, an integer (expected: a mapping)");
    assertThat(Yaml.problems("applications: [shop]"))
        .containsExactly(
            "berth.yaml:1:16: applications[0]: \"shop\", a string (expected: a mapping)");
  }

  @Test
  void hostAndPortOfAnApplicationBelongToHttpOptions() {
    assertThat(Yaml.applicationProblems("host: x", "port: 1"))
        .containsExactly(
            "berth.yaml:3:5: applications[0].host: does not belong here"
                + " (expected: http_options.host)",
            "berth.yaml:4:5: applications[0].port: does not belong here"
                + " (expected: http_options.port)");
  }

  @Test
  void theValueOfARefusedKeyIsNeverShown() {
    assertThat(
            Yaml.optionProblems(
                "http_options: {ssl_keyfile_password: hush, ssl_keyfile_pasword: hush}"))
        .hasSize(2) // refused, and unknown
        .noneMatch(problem -> problem.contains("hush"));
  }
}
