package dev.berth.cli.log;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import dev.berth.fakes.LogLines;
import java.util.List;
import java.util.logging.LogRecord;
import org.junit.jupiter.api.Test;

class JulHandlerTest {
  private static LogRecord record(java.util.logging.Level level, String message) {
    LogRecord record = new LogRecord(level, message);
    record.setLoggerName(JulHandlerTest.class.getName());
    return record;
  }

  @Test
  void aRecordIsALineOfTheLoggerOfItsName() {
    try (LogLines lines = new LogLines(JulHandlerTest.class, Level.DEBUG)) {
      LogRecord record = record(java.util.logging.Level.WARNING, "{0} of {1}, 'and'");
      record.setParameters(new Object[] {1, "two"});
      record.setThrown(new ArithmeticException("why"));
      new JulHandler().publish(record);

      ILoggingEvent line = lines.all().get(0);
      assertThat(line.getFormattedMessage()).isEqualTo("1 of two, and");
      assertThat(line.getLevel()).isEqualTo(Level.WARN);
      assertThat(line.getThrowableProxy().getMessage()).isEqualTo("why");
    }
  }

  @Test
  void levelsAreThoseNextToThem() {
    try (LogLines lines = new LogLines(JulHandlerTest.class, Level.DEBUG)) {
      JulHandler handler = new JulHandler();
      for (String level : List.of("SEVERE", "WARNING", "INFO", "CONFIG", "FINE", "FINEST")) {
        handler.publish(record(java.util.logging.Level.parse(level), level));
      }
      assertThat(lines.all())
          .extracting(line -> line.getMessage() + " " + line.getLevel())
          .containsExactly(
              "SEVERE ERROR", "WARNING WARN", "INFO INFO", "CONFIG INFO", "FINE DEBUG");
    }
  }

  /** Else {@code java.util.logging} would tell its caller that its log failed. */
  @Test
  void aFailureThatCannotBeToldIsALineAllTheSame() {
    try (LogLines lines = new LogLines(JulHandlerTest.class, Level.DEBUG)) {
      LogRecord record = record(java.util.logging.Level.SEVERE, "broken");
      record.setThrown(
          new IllegalStateException() {
            private static final long serialVersionUID = 1L;

            @Override
            public String getMessage() {
              throw new UnsupportedOperationException();
            }
          });
      new JulHandler().publish(record);
      assertThat(lines.all()).extracting(ILoggingEvent::getMessage).containsExactly("broken");
    }
  }
}
