package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.encoder.Encoder;
import java.nio.charset.StandardCharsets;
import java.util.ServiceLoader;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.event.KeyValuePair;

class DefaultLoggingTest {

  private final LoggerContext context = new LoggerContext();

  @BeforeEach
  void prepare() {
    context.setMDCAdapter(new LogbackMDCAdapter());
  }

  @Test
  void logbackFindsIt() {
    assertThat(ServiceLoader.load(Configurator.class))
        .hasAtLeastOneElementOfType(DefaultLogging.class);
  }

  @Test
  void aFileOfLogbacksOwnGoesFirst() { // these tests have a logback-test.xml
    assertThat(new DefaultLogging().configure(context))
        .isEqualTo(Configurator.ExecutionStatus.INVOKE_NEXT_IF_ANY);
    assertThat(context.getLogger(Logger.ROOT_LOGGER_NAME).iteratorForAppenders()).isExhausted();
  }

  @Test
  void anEventIsOneShortLineOnStandardError() {
    DefaultLogging.configureDefaults(context);
    ch.qos.logback.classic.Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
    ConsoleAppender<ILoggingEvent> appender =
        (ConsoleAppender<ILoggingEvent>) root.iteratorForAppenders().next();
    Encoder<ILoggingEvent> encoder = appender.getEncoder();
    LoggingEvent event =
        new LoggingEvent(
            "", context.getLogger("dev.berth.Shop"), Level.WARN, "open {}", null, new Object[] {1});

    String line = new String(encoder.encode(event), StandardCharsets.UTF_8);

    assertThat(appender.getTarget()).isEqualTo("System.err");
    assertThat(line)
        .matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}\\S+ WARN  Shop - open 1\\n");

    event.addKeyValuePair(new KeyValuePair("request_id", "r-1"));
    assertThat(new String(encoder.encode(event), StandardCharsets.UTF_8))
        .endsWith("Shop - open 1 request_id=\"r-1\"\n");
  }

  @Test
  void aFailureFollowsItsLineWithItsStackAndItsCause() {
    LoggingEvent event =
        new LoggingEvent(
            "",
            context.getLogger("Top"),
            Level.ERROR,
            "no",
            new IllegalStateException("outer", new ArithmeticException("inner")),
            null);

    String text = new String(new TextLines(false).encode(event), StandardCharsets.UTF_8);

    assertThat(text.lines().toList())
        .satisfies(
            lines -> {
              assertThat(lines.get(0)).endsWith(" ERROR Top - no");
              assertThat(lines.get(1)).isEqualTo("java.lang.IllegalStateException: outer");
              assertThat(lines.get(2)).startsWith("\tat " + getClass().getName());
            })
        .contains("Caused by: java.lang.ArithmeticException: inner");
    assertThat(text).endsWith("\n");
  }

  @Test
  void aLineOfTheAccessLogIsItsMessageAlone() {
    LoggingEvent event =
        new LoggingEvent("", context.getLogger("a"), Level.INFO, "{}", null, new Object[] {"GET"});
    event.addKeyValuePair(new KeyValuePair("request_id", "r-1"));

    assertThat(new TextLines(true).encode(event)).asString().isEqualTo("GET\n");
  }

  @Test
  void theServerUnderneathSpeaksOnlyToWarn() {
    DefaultLogging.configureDefaults(context);

    assertThat(context.getLogger("io.vertx.core.http").isInfoEnabled()).isFalse();
    assertThat(context.getLogger("io.netty.channel").isWarnEnabled()).isTrue();
    assertThat(context.getLogger("dev.berth").isInfoEnabled()).isTrue();
    assertThat(context.getLogger("dev.berth").isDebugEnabled()).isFalse();
  }
}
