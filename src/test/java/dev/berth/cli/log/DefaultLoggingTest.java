package dev.berth.cli.log;

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
import java.util.Arrays;
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

    String text = new TextLines(TextLines.LogLineForm.FILE).doLayout(event);

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

  private String text(TextLines.LogLineForm form, String logger, String message, Object... pairs) {
    LoggingEvent event =
        new LoggingEvent("", context.getLogger(logger), Level.WARN, message, null, null);
    for (int i = 0; i < pairs.length; i += 2) {
      event.addKeyValuePair(new KeyValuePair((String) pairs[i], pairs[i + 1]));
    }
    return new TextLines(form).doLayout(event);
  }

  @Test
  void whatTheMessageOrTheReplicasNameSaysIsNotSaidAgain() {
    String message = "replica shop#cart#1: UPDATING -> RUNNING after 12.5 s";
    Object[] pairs = {
      "application", "shop",
      "replica", "shop#cart#1",
      "to", "RUNNING",
      "reason", "",
      "load", 2,
      "half", 12,
      "why", "UP"
    };
    assertThat(text(TextLines.LogLineForm.FILE, "dev.berth.T", message, pairs))
        .endsWith("after 12.5 s load=\"2\" half=\"12\" why=\"UP\"\n");
    Object[] ofReplica = {
      "application", "shop", "deployment", "cart", "replica", "shop#cart#1", "request_id", "r-1"
    };
    assertThat(text(TextLines.LogLineForm.FILE, "com.acme.X", "hello", ofReplica))
        .endsWith(" X - hello replica=\"shop#cart#1\" request_id=\"r-1\"\n");
  }

  @Test
  void onATerminalItIsShorterAndOnlyThereColoured() {
    Object[] pairs = {"version", "9f2c", "stack", "at a.B < c.D", "reason", "no model"};
    assertThat(text(TextLines.LogLineForm.TERMINAL, "dev.berth.T", "failed", pairs))
        .matches("\\d\\d:\\d\\d:\\d\\d\\.\\d{3} WARN  failed reason=\"no model\"\\n");
    assertThat(text(TextLines.LogLineForm.TERMINAL, "com.acme.Shop", "failed"))
        .as("whose line it is, when not the server's")
        .endsWith(" WARN  Shop - failed\n");
    assertThat(text(TextLines.LogLineForm.COLOURS, "dev.berth.T", "failed", pairs))
        .contains("\u001b[33mWARN\u001b[0m", "\u001b[2m reason=\"no model\"\u001b[0m\n");
    assertThat(text(TextLines.LogLineForm.FILE, "dev.berth.T", "failed", pairs))
        .contains("version=\"9f2c\"", "stack=")
        .doesNotContain("\u001b");
  }

  @Test
  void aMessageNeitherDrawsNorForgesALine() {
    assertThat(
            text(
                TextLines.LogLineForm.FILE,
                "a.B",
                "one\r\n2026-01-01 INFO  two\u001b[2J\u0085\tend"))
        .endsWith(" B - one\n    2026-01-01 INFO  two?[2J?\tend\n");
  }

  @Test
  void aLongValueIsCutAndOneThatFailsIsNamed() {
    Object failing =
        new Object() {
          @Override
          public String toString() {
            throw new UnsupportedOperationException();
          }
        };
    assertThat(text(TextLines.LogLineForm.FILE, "a.B", "m", "k", "x".repeat(9_999), "f", failing))
        .hasSizeLessThan(500)
        .contains("xxx...\"", "f=\"[toString of ");
  }

  @Test
  void aStackThatOverflowedIsCut() {
    StackOverflowError deep = new StackOverflowError();
    StackTraceElement[] frames = new StackTraceElement[1_024];
    Arrays.fill(frames, new StackTraceElement("com.acme.Deep", "er", "Deep.java", 7));
    deep.setStackTrace(frames);
    LoggingEvent event = new LoggingEvent("", context.getLogger("a"), Level.WARN, "no", deep, null);
    assertThat(new TextLines(TextLines.LogLineForm.FILE).doLayout(event)).hasSizeLessThan(20_000);
  }

  @Test
  void aLineOfTheAccessLogIsItsMessageAlone() {
    LoggingEvent event =
        new LoggingEvent("", context.getLogger("a"), Level.INFO, "{}", null, new Object[] {"GET"});
    event.addKeyValuePair(new KeyValuePair("request_id", "r-1"));

    assertThat(new TextLines(TextLines.LogLineForm.BARE).doLayout(event)).isEqualTo("GET\n");
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
