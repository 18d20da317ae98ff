package dev.berth.cli.log;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.ConsoleAppender;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import io.vertx.core.json.JsonObject;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.event.KeyValuePair;

class ProcessLogTest {
  private final LoggerContext context = new LoggerContext();

  @BeforeEach
  void defaults() {
    context.setMDCAdapter(new LogbackMDCAdapter());
    DefaultLogging.configureDefaults(context);
  }

  private static ServeConfig config(String logging, String application) {
    return ConfigReader.read(
        "test.yaml",
        Path.of("."),
        """
        logging_config: %s
        applications: [{name: shop, import_path: 'a.B:c', %s}]
        """
            .formatted(logging, application));
  }

  private String line(@Nullable Throwable thrown) {
    LoggingEvent event =
        new LoggingEvent(
            "",
            context.getLogger("dev.berth.Shop"),
            Level.WARN,
            "two\nlines \"{}\"",
            thrown,
            new Object[] {1});
    event.addKeyValuePair(new KeyValuePair("request_id", "r-1"));
    ConsoleAppender<ILoggingEvent> appender =
        (ConsoleAppender<ILoggingEvent>)
            context.getLogger(Logger.ROOT_LOGGER_NAME).getAppender(DefaultLogging.APPENDER);
    return new String(appender.getEncoder().encode(event), StandardCharsets.UTF_8);
  }

  @Test
  void inJsonAnEventIsOneObjectOnOneLine() {
    ProcessLog.apply(config("{encoding: JSON}", ""), context);
    String line = line(new IllegalStateException("why"));
    assertThat(line).endsWith("}\n").hasLineCount(1);
    JsonObject event = new JsonObject(line);
    assertThat(event.getString("message")).isEqualTo("two\nlines \"1\"");
    assertThat(event.getString("level")).isEqualTo("WARN");
    assertThat(event.getString("logger")).isEqualTo("dev.berth.Shop");
    assertThat(event.getString("request_id")).isEqualTo("r-1");
    assertThat(event.getString("time")).endsWith("Z");
    assertThat(event.getString("exception")).contains("IllegalStateException: why");
  }

  @Test
  void inTextKeyValuePairsStandAfterTheMessage() {
    ProcessLog.apply(config("{encoding: TEXT}", ""), context);
    assertThat(line(null)).contains(" - two\n").endsWith(" request_id=\"r-1\"\n");
  }

  /** As node/TransitionLog writes them. */
  private LoggingEvent transition() {
    LoggingEvent event =
        new LoggingEvent("", context.getLogger("T"), Level.INFO, "replica failed", null, null);
    event.addKeyValuePair(new KeyValuePair("application", "shop"));
    event.addKeyValuePair(new KeyValuePair("deployment", "cart"));
    event.addKeyValuePair(new KeyValuePair("replica", "shop#cart#1"));
    event.addKeyValuePair(new KeyValuePair("version", "9f2c"));
    event.addKeyValuePair(new KeyValuePair("attempt", 2));
    event.addKeyValuePair(new KeyValuePair("level", "mine"));
    event.addKeyValuePair(new KeyValuePair("reason", "said \"no\"\nat C:\\x"));
    return event;
  }

  @Test
  void aTransitionIsOneLineOfTextWhoseValuesCanBeReadBack() {
    assertThat(new TextLines(TextLines.LogLineForm.FILE).doLayout(transition()))
        .hasLineCount(1)
        .endsWith(
            " T - replica failed replica=\"shop#cart#1\""
                + " version=\"9f2c\" attempt=\"2\" level=\"mine\""
                + " reason=\"said \\\"no\\\"\\nat C:\\\\x\"\n");
  }

  @Test
  void aTransitionIsOneJsonObjectWhosePairsHideNothingOfTheEvent() {
    JsonObject line = new JsonObject(new JsonLines().doLayout(transition()));
    assertThat(line.getString("application")).isEqualTo("shop");
    assertThat(line.getString("replica")).isEqualTo("shop#cart#1");
    assertThat(line.getString("version")).isEqualTo("9f2c");
    assertThat(line.getValue("attempt")).isEqualTo(2);
    assertThat(line.getString("reason")).isEqualTo("said \"no\"\nat C:\\x");
    assertThat(line.getString("level")).isEqualTo("INFO");
    assertThat(line.getString("level_")).isEqualTo("mine");
  }

  @Test
  void theLevelIsThatOfEverythingAndTheServerUnderneathStaysQuiet() {
    ProcessLog.apply(config("{log_level: DEBUG}", ""), context);
    assertThat(context.getLogger("dev.berth").isDebugEnabled()).isTrue();
    assertThat(context.getLogger("io.netty").isInfoEnabled()).isFalse();
    ProcessLog.apply(config("{log_level: ERROR}", ""), context);
    assertThat(context.getLogger("dev.berth").isWarnEnabled()).isFalse();
    assertThat(context.getLogger("io.netty").isWarnEnabled()).isFalse();
  }

  @Test
  void anApplicationAndADeploymentMayHaveLevelsOfTheirOwn() {
    ProcessLog.apply(
        config(
            "{log_level: WARN}",
            "logging_config: {log_level: INFO}, deployments: [{name: till, logging_config:"
                + " {log_level: DEBUG}}]"),
        context);
    assertThat(context.getLogger("shop.shelf").getEffectiveLevel()).isEqualTo(Level.INFO);
    assertThat(context.getLogger("shop.till").getEffectiveLevel()).isEqualTo(Level.DEBUG);
    assertThat(context.getLogger("dev.berth").getEffectiveLevel()).isEqualTo(Level.WARN);
  }

  @Test
  void theAccessLogIsWrittenAsItComesWhateverTheLevel() {
    ProcessLog.apply(config("{log_level: ERROR, encoding: JSON}", ""), context);
    ch.qos.logback.classic.Logger access = context.getLogger(DefaultLogging.ACCESS_LOGGER);
    assertThat(access.isInfoEnabled()).isTrue();
    assertThat(access.isAdditive()).isFalse();
    ConsoleAppender<ILoggingEvent> appender =
        (ConsoleAppender<ILoggingEvent>) access.iteratorForAppenders().next();
    LoggingEvent event = new LoggingEvent("", access, Level.INFO, "{\"a\":1}", null, null);
    assertThat(new String(appender.getEncoder().encode(event), StandardCharsets.UTF_8))
        .isEqualTo("{\"a\":1}\n");
  }

  @Test
  void logbacksOwnConfigurationHasTheLastWord() {
    LoggerContext own = new LoggerContext();
    own.getLogger(Logger.ROOT_LOGGER_NAME).setLevel(Level.WARN);
    ProcessLog.apply(config("{log_level: DEBUG, encoding: JSON}", ""), own);
    assertThat(own.getLogger(Logger.ROOT_LOGGER_NAME).getLevel()).isEqualTo(Level.WARN);
  }
}
