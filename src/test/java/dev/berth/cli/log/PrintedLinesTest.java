package dev.berth.cli.log;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.AppenderBase;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.event.Level;

class PrintedLinesTest {
  private final LoggerContext context = new LoggerContext();
  private final ByteArrayOutputStream real = new ByteArrayOutputStream();
  private final List<ILoggingEvent> lines = new CopyOnWriteArrayList<>();
  private PrintStream out = System.out;

  @BeforeEach
  void take() {
    context.setMDCAdapter(new LogbackMDCAdapter());
    Logger log = context.getLogger(StandardStreamLogger.OUT);
    PrintStream before = new PrintStream(real, true, StandardCharsets.UTF_8);
    out =
        new PrintStream(
            new StandardStreamLogger(log, Level.INFO, before), true, StandardCharsets.UTF_8);
    AppenderBase<ILoggingEvent> kept =
        new AppenderBase<>() {
          @Override
          protected void append(ILoggingEvent event) {
            out.println("of the log itself");
            lines.add(event);
          }
        };
    kept.setContext(context);
    kept.start();
    log.addAppender(kept);
  }

  private List<String> said() {
    return lines.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  @Test
  void aLineIsAnEventHoweverItIsPrinted() {
    out.print("one ");
    out.print('{');
    out.print("} ü");
    out.println();
    out.printf("two\r\nthree%n");
    out.println();
    assertThat(said()).containsExactly("one {} ü", "two", "three");
  }

  /** What logging prints is no line of the log: there would be no end of it. */
  @Test
  void whatTheLogItselfPrintsGoesWhereItWent() {
    out.println("once");
    assertThat(said()).containsExactly("once");
    assertThat(real.toString(StandardCharsets.UTF_8).lines()).containsExactly("of the log itself");
  }

  @Test
  void aLongLineBecomesSeveralAndNoCharacterIsCut() {
    out.println("é".repeat(StandardStreamLogger.MAX_BYTES));
    assertThat(String.join("", said())).isEqualTo("é".repeat(StandardStreamLogger.MAX_BYTES));
    assertThat(said()).hasSize(2);
  }

  @Test
  void whereLogbackHasItsOwnConfigurationNothingIsTaken() {
    PrintStream before = System.out;
    StandardStreamLogger.take(context).run();
    assertThat(System.out).isSameAs(before);
  }
}
