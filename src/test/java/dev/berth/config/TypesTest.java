package dev.berth.config;

import static dev.berth.config.Yaml.onlyProblem;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.keys.Settings;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What may stand behind a key, by example; {@link KeyTableTest} goes over every key. */
class TypesTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'8000'  | \"8000\", a string",
        "yes     | \"yes\", a string",
        "8000.0  | 8000.0, a number with a fraction",
        "true    | true, a boolean",
        "[8000]  | a list",
        "{a: 1}  | a mapping",
        "-1      | -1",
        "65536   | 65536",
        "99999999999999999999 | 99999999999999999999, an integer",
        "4294967376 | 4294967376, an integer",
        "-4294967216 | -4294967216, an integer",
        "!!int x | x, an integer",
        "!port 1 | 1, tagged !port"
      },
      quoteCharacter = '`')
  void anIntegerIsAnIntegerInItsRange(String given, String shown) {
    assertThat(Yaml.optionProblems("http_options:\n  port: " + given))
        .containsExactly(
            "berth.yaml:3:9: http_options.port: "
                + shown
                + " (expected: an integer from 0 to 65535)");
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "65535, 65535", "0x1F90, 8080", "0o17, 15"})
  void theEndsOfARangeBelongToIt(String given, int read) {
    ServeConfig config = Yaml.options("http_options: {port: " + given + "}");

    assertThat(config.get(HttpOptions.PORT)).isEqualTo(read);
  }

  @ParameterizedTest
  @CsvSource({
    "1, 1000000000",
    "0.25, 250000000",
    "1e-3, 1000000",
    "1.5e1, 15000000000",
    "31536000, 31536000000000000"
  })
  void secondsMayHaveAFraction(String given, long nanos) {
    ServeConfig config = Yaml.options("http_options: {keep_alive_timeout_s: " + given + "}");

    assertThat(config.get(HttpOptions.KEEP_ALIVE_TIMEOUT_S)).isEqualTo(Duration.ofNanos(nanos));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"0", "-1", "1e-10", "31536001", "1e300", ".inf", ".nan", "1s", "'1'", "[1]"})
  void secondsAreAboveZeroAndAtMostAYear(String given) {
    onlyProblem(Yaml.optionProblems("http_options: {keep_alive_timeout_s: " + given + "}"))
        .startsWith("berth.yaml:2:38: http_options.keep_alive_timeout_s: ")
        .endsWith(" (expected: a number of seconds above 0, at most 31536000)");
  }

  @Test
  void someTimesMayBeZero() {
    Settings deployment =
        Yaml.deployment("graceful_shutdown_timeout_s: 0", "berth: {cancel_grace_s: 0}");

    assertThat(deployment.get(DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S)).isZero();
    assertThat(deployment.get(DeploymentConfig.CANCEL_GRACE_S)).isZero();
    assertThat(Yaml.deploymentProblems("graceful_shutdown_timeout_s: -0.1"))
        .containsExactly(
            "berth.yaml:5:38: applications[0].deployments[0].graceful_shutdown_timeout_s: -0.1"
                + " (expected: a number of seconds from 0 to 31536000)");
  }

  @Test
  void millisecondsAreWhole() {
    assertThat(
            Yaml.optionProblems(
                "berth: {metrics: {record_interval_ms: 0.5, push_interval_ms: 60001}}"))
        .containsExactly(
            "berth.yaml:2:39: berth.metrics.record_interval_ms: 0.5, a number with a fraction"
                + " (expected: an integer from 10 to 60000)",
            "berth.yaml:2:62: berth.metrics.push_interval_ms: 60001"
                + " (expected: an integer from 10 to 60000)");
  }

  @Test
  void bytesArePlainIntegersBeyondThirtyTwoBits() {
    assertThat(
            Yaml.options("berth: {limits: {max_queued_bytes: 8589934592}}")
                .get(LimitOptions.MAX_QUEUED_BYTES))
        .isEqualTo(1L << 33);
    assertThat(Yaml.optionProblems("berth: {limits: {max_queued_bytes: 64MiB}}"))
        .containsExactly(
            "berth.yaml:2:36: berth.limits.max_queued_bytes: \"64MiB\", a string"
                + " (expected: an integer >= 0)");
  }

  @Test
  void maxQueuedRequestsIsMinusOneOrACount() {
    assertThat(Yaml.deployment("max_queued_requests: -1").get(DeploymentConfig.MAX_QUEUED_REQUESTS))
        .isEqualTo(-1);
    assertThat(Yaml.deployment("max_queued_requests: 1").get(DeploymentConfig.MAX_QUEUED_REQUESTS))
        .isEqualTo(1);
    assertThat(List.of("0", "-2", "1.0", "'1'"))
        .allSatisfy(
            given ->
                onlyProblem(Yaml.deploymentProblems("max_queued_requests: " + given))
                    .endsWith(" (expected: -1 or an integer >= 1)"));
  }

  @Test
  void aChoiceIsOneOfItsWords() {
    assertThat(Yaml.deployment("berth: {spread: event_loops}").get(DeploymentConfig.SPREAD))
        .isEqualTo(HandlerSpread.EVENT_LOOPS);
    assertThat(Yaml.deployment("berth: {spread: single}").get(DeploymentConfig.SPREAD))
        .isEqualTo(HandlerSpread.SINGLE);
    assertThat(Yaml.deploymentProblems("berth: {spread: SINGLE}"))
        .containsExactly(
            "berth.yaml:5:25: applications[0].deployments[0].berth.spread: \"SINGLE\", a string"
                + " (expected: single or event_loops)");
    assertThat(Yaml.deploymentProblems("backpressure_config: {status_code: '503'}"))
        .containsExactly(
            "berth.yaml:5:44: applications[0].deployments[0].backpressure_config.status_code:"
                + " \"503\", a string (expected: 503 or 429)");
  }

  @Test
  void retryAfterIsWholeSeconds() {
    assertThat(
            Yaml.deployment("backpressure_config: {status_code: 429, retry_after_s: 3}")
                .get(DeploymentConfig.BACKPRESSURE_CONFIG))
        .isEqualTo(
            Backpressure.DEFAULTS
                .with(Backpressure.STATUS_CODE, 429)
                .with(Backpressure.RETRY_AFTER_S, Duration.ofSeconds(3)));
    onlyProblem(Yaml.deploymentProblems("backpressure_config: {retry_after_s: 0.5}"))
        .endsWith(
            "retry_after_s: 0.5, a number with a fraction"
                + " (expected: a whole number of seconds from 0 to 86400)");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/", "/a", "/a/b", "/a-b_c.d", "/ä"})
  void aRoutePrefixAsRayAllowsIt(String prefix) {
    assertThat(Yaml.application("route_prefix: " + prefix).routePrefix()).isEqualTo(prefix);
  }

  @ParameterizedTest
  @ValueSource(strings = {"a", "/a/", "//", "'/{id}'", "'/a}'", "''", "5"})
  void aRoutePrefixAsRayRefusesIt(String prefix) {
    onlyProblem(Yaml.applicationProblems("route_prefix: " + prefix))
        .endsWith(
            " (expected: a path that starts with /, does not end with / unless it is / itself,"
                + " and has no { or })");
  }

  @Test
  void aNullRoutePrefixGivesNoHttp() {
    assertThat(Yaml.application("route_prefix: null").routePrefix()).isNull();
  }

  @ParameterizedTest
  @ValueSource(strings = {"''", "'  '", "a#b", "\"a\\nb\"", "5", "true"})
  void aNameIsALineWithoutHash(String name) {
    onlyProblem(Yaml.applicationProblems("name: " + name))
        .endsWith(" (expected: a non-empty string on one line, without #)");
  }

  @Test
  void aLongValueIsShownShortened() {
    onlyProblem(Yaml.applicationProblems("route_prefix: " + "x".repeat(1000)))
        .contains("\"" + "x".repeat(60) + "...\"")
        .hasSizeLessThan(250);
  }
}
