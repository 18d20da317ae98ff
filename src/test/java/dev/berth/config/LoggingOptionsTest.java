package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Settings;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.event.Level;

class LoggingOptionsTest {

  @Test
  void theNearestLoggingConfigCountsAsAWhole() {
    ServeConfig config =
        Yaml.read(
            """
            logging_config: {log_level: DEBUG, enable_access_log: true}
            applications:
              - {name: a, route_prefix: /a, import_path: a.B}
              - name: b
                route_prefix: /b
                import_path: a.B
                logging_config: {log_level: ERROR}
                deployments: [{name: own, logging_config: {encoding: JSON}}, {name: other}]
            """);

    Settings top = logging(LogEncoding.TEXT, Level.DEBUG, true);
    Settings ofB = logging(LogEncoding.TEXT, Level.ERROR, false);
    assertThat(config.get(ServeConfig.LOGGING_CONFIG)).isEqualTo(top);
    assertThat(config.applications().get(0).get(ApplicationConfig.LOGGING_CONFIG)).isEqualTo(top);
    assertThat(config.applications().get(1).get(ApplicationConfig.LOGGING_CONFIG)).isEqualTo(ofB);
    assertThat(ofDeployment(config, "own")).isEqualTo(logging(LogEncoding.JSON, Level.INFO, false));
    assertThat(ofDeployment(config, "other")).isEqualTo(ofB);
  }

  @ParameterizedTest
  @CsvSource({
    "DEBUG, DEBUG",
    "INFO, INFO",
    "WARN, WARN",
    "WARNING, WARN",
    "ERROR, ERROR",
    "CRITICAL, ERROR",
    "10, DEBUG",
    "20, INFO",
    "30, WARN",
    "40, ERROR",
    "50, ERROR"
  })
  void aLevelIsANameOrPythonsNumber(String given, Level level) {
    assertThat(
            read("log_level: " + given)
                .get(ServeConfig.LOGGING_CONFIG)
                .get(LoggingOptions.LOG_LEVEL))
        .isEqualTo(level);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "log_level: 25",
        "log_level: info",
        "log_level: 1.5",
        "log_level: null",
        "encoding: json",
        "enable_access_log: 1",
        "enable_access_log: yes"
      })
  void anythingElseIsRefused(String key) {
    assertThat(Yaml.optionProblems("logging_config: {" + key + "}")).hasSize(1);
  }

  @Test
  void whatHasNoEffectIsCheckedAndWarnedOf() {
    ServeConfig config =
        read("logs_dir: /var/log, additional_log_standard_attrs: [name], encoding: JSON");

    assertThat(config.get(ServeConfig.LOGGING_CONFIG).get(LoggingOptions.ENCODING))
        .isEqualTo(LogEncoding.JSON);
    assertThat(config.warnings())
        .extracting(ConfigProblem::toString)
        .containsExactly(
            "berth.yaml:2:18: warning: logging_config.logs_dir: has no effect: the log goes to"
                + " standard error (expected: leave it out)",
            "berth.yaml:2:38: warning: logging_config.additional_log_standard_attrs: has no"
                + " effect: Python log record attributes do not exist here"
                + " (expected: leave it out)");
    assertThat(read("logs_dir: null").warnings()).isEmpty();
    assertThat(
            Yaml.optionProblems(
                "logging_config: {additional_log_standard_attrs: [5], logs_dir: ''}"))
        .filteredOn(line -> !line.contains("warning"))
        .hasSize(2);
  }

  private static ServeConfig read(String keys) {
    return Yaml.options("logging_config: {" + keys + "}");
  }

  private static Settings logging(LogEncoding encoding, Level level, boolean access) {
    return LoggingOptions.DEFAULTS
        .with(LoggingOptions.ENCODING, encoding)
        .with(LoggingOptions.LOG_LEVEL, level)
        .with(LoggingOptions.ENABLE_ACCESS_LOG, access);
  }

  private static Settings ofDeployment(ServeConfig config, String name) {
    return config
        .applications()
        .get(1)
        .deployment(name)
        .orElseThrow()
        .get(DeploymentConfig.LOGGING_CONFIG);
  }
}
