package dev.berth.config;

import static dev.berth.config.Yaml.onlyProblem;
import static dev.berth.config.Yaml.refused;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class InstanceOptionsTest {

  @Test
  void aPrefixOfMetricsIsTheStartOfAName() {
    assertThat(Yaml.optionProblems("berth: {metrics: {prefix: 1-}}"))
        .containsExactly(
            "berth.yaml:2:27: berth.metrics.prefix: \"1-\" (expected: empty, or letters, digits and _,"
                + " no digit first)");
  }

  @Test
  void metricsAreNotPushedMoreOftenThanTheyAreRecorded() {
    String expected = "push_interval_ms: 100 (expected: at least record_interval_ms, 200)";
    assertThat(Yaml.optionProblems("berth: {metrics: {push_interval_ms: 100}}"))
        .containsExactly("berth.yaml:2:37: berth.metrics." + expected);
    assertThat(Yaml.optionProblems("berth: {metrics: {record_interval_ms: 5000}}"))
        .as("the default is not above it either")
        .containsExactly(
            "berth.yaml:2:18: berth.metrics.push_interval_ms: 1000"
                + " (expected: at least record_interval_ms, 5000)");
    refused(
        () -> ServeConfig.DEFAULTS.with(MetricsOptions.PUSH_INTERVAL_MS, Duration.ofMillis(100)),
        expected);
  }

  @Test
  void boundsOnBytesFollowASmallHeap() {
    assertThat(LimitOptions.heapShare(128L << 20, 4, 256L << 20)).isEqualTo(32L << 20);
    assertThat(LimitOptions.heapShare(8L << 30, 4, 256L << 20)).isEqualTo(256L << 20);
    assertThat(LimitOptions.heapShare(2L << 20, 4, 256L << 20)).isEqualTo(1L << 20);
  }

  @Test
  void oneStreamsWindowFitsIntoTheWhole() {
    assertThat(
            Yaml.optionProblems(
                "berth: {limits: {stream_window_bytes: 70000, stream_bytes_total: 65536}}"))
        .containsExactly(
            "berth.yaml:2:39: berth.limits.stream_window_bytes: 70000"
                + " (expected: at most stream_bytes_total, 65536)");
  }

  @Test
  void aRuleOverTwoKeysIsSilentWhenOneOfThemIsWrong() {
    onlyProblem(
            Yaml.optionProblems(
                "berth: {metrics: {record_interval_ms: 5000, push_interval_ms: fast}}"))
        .contains("\"fast\"");
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST", "'::1'"})
  void theAdminServerAsksNobodyForATokenOnThisMachine(String host) {
    assertThat(Yaml.optionProblems("berth: {admin: {host: " + host + "}}")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"0.0.0.0", "'::'", "10.0.0.1", "berth.example", "127.evil.example"})
  void anAdminServerThatOtherMachinesReachWantsATokenOrAWaiver(String host) {
    String admin = Yaml.NO_APPLICATIONS + "berth: {admin: {host: " + host;
    onlyProblem(Yaml.problems(admin + "}}"))
        .startsWith("berth.yaml:2:23: berth.admin.host: ")
        .contains("or bearer_tokens;", "allow_unauthenticated: true");
    assertThat(Yaml.problems(admin + ", allow_unauthenticated: true}}")).isEmpty();
    assertThat(
            BearerToken.secrets(
                Yaml.read(admin + ", bearer_tokens: [{name: ci, token: 0123456789abcdef}]}}")
                    .get(AdminOptions.BEARER_TOKENS)))
        .isEqualTo(Map.of("ci", "0123456789abcdef"));
  }

  @Test
  void anAdminTokenHasItsOwnName() {
    onlyProblem(
            Yaml.optionProblems(
                "berth: {admin: {bearer_tokens: [{name: a, token: 0123456789abcdef},"
                    + " {name: a, token: 0123456789abcdeg}]}}"))
        .contains("twice");
  }

  @Test
  void theStateIsKeptInTheCurrentFolderUnlessTheFileSaysElse() {
    assertThat(ServeConfig.DEFAULTS.get(InstanceOptions.STATE_DIR))
        .isEqualTo(Path.of("berth-state").toAbsolutePath());
    ServeConfig said =
        ConfigReader.read(
            "berth.yaml",
            Path.of("conf"),
            Yaml.NO_APPLICATIONS + "berth: {state_dir: s, ephemeral: true}");
    assertThat(said.get(InstanceOptions.STATE_DIR)).isEqualTo(Path.of("conf/s").toAbsolutePath());
    assertThat(said.get(InstanceOptions.EPHEMERAL)).isTrue();
    onlyProblem(Yaml.optionProblems("berth: {state_dir: ''}"))
        .contains("berth.state_dir: \"\", a string (expected: a path)");
  }

  @Test
  void eventLoopsFollowTheCores() {
    assertThat(ServeConfig.DEFAULTS.get(InstanceOptions.EVENT_LOOPS))
        .isEqualTo(Runtime.getRuntime().availableProcessors());
  }

  @Test
  void aBodyHasASizeThatEveryJsonReaderHoldsExactly() {
    assertThat(ServeConfig.DEFAULTS.get(LimitOptions.MAX_BODY_BYTES)).isEqualTo(1_073_741_824);
    assertThat(ServeConfig.DEFAULTS.get(LimitOptions.BUFFERED_BODY_BYTES_TOTAL))
        .isEqualTo(LimitOptions.heapShare(Runtime.getRuntime().maxMemory(), 4, 256L << 20));
    assertThat(Yaml.optionProblems("berth: {limits: {max_body_bytes: 9007199254740993}}"))
        .containsExactly(
            "berth.yaml:2:34: berth.limits.max_body_bytes: 9007199254740993"
                + " (expected: an integer from 0 to 9007199254740992)");
  }
}
