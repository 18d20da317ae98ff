package dev.berth.cli.log;

import dev.berth.protocol.UserFailure;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import java.util.logging.SimpleFormatter;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * Handler that passes the lines of {@code java.util.logging}, including the JDK's own, to the log.
 * {@code java.util.logging} creates the handler when a class first logs through it, not at each
 * start.
 */
public final class JulHandler extends Handler {
  private static final String CONFIG_CLASS = "java.util.logging.config.class";
  private static final String CONFIG_FILE = "java.util.logging.config.file";

  private final SimpleFormatter messages = new SimpleFormatter();

  /** Creates the handler. Called by {@code java.util.logging}. */
  public JulHandler() {}

  /** Configuration of {@code java.util.logging}, in place of a file. */
  public static final class JulConfiguration {
    /** Configures the handler. Called by {@code java.util.logging}. */
    public JulConfiguration() throws IOException {
      boolean fine = LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME).isDebugEnabled();
      String text =
          "handlers=" + JulHandler.class.getName() + "\n.level=" + (fine ? "ALL" : "INFO");
      LogManager.getLogManager()
          .readConfiguration(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
    }
  }

  /** Installs the handler in this process, unless the operator configured another one. */
  public static void install() {
    if (System.getProperty(CONFIG_CLASS) == null && System.getProperty(CONFIG_FILE) == null) {
      System.setProperty(CONFIG_CLASS, JulConfiguration.class.getName());
    }
  }

  @Override
  public void publish(LogRecord record) {
    String name = record.getLoggerName();
    LoggingEventBuilder line =
        LoggerFactory.getLogger(name == null || name.isEmpty() ? "java.util.logging" : name)
            .atLevel(level(record.getLevel()));
    Throwable thrown = record.getThrown();
    line.setCause(thrown == null ? null : UserFailure.legible(thrown))
        .log(messages.formatMessage(record));
  }

  private static org.slf4j.event.Level level(Level level) {
    int value = level.intValue();
    if (value >= Level.SEVERE.intValue()) {
      return org.slf4j.event.Level.ERROR;
    } else if (value >= Level.WARNING.intValue()) {
      return org.slf4j.event.Level.WARN;
    } else if (value >= Level.CONFIG.intValue()) {
      return org.slf4j.event.Level.INFO;
    }
    return value >= Level.FINE.intValue()
        ? org.slf4j.event.Level.DEBUG
        : org.slf4j.event.Level.TRACE;
  }

  @Override
  public void flush() {
    // Each line is written at once.
  }

  @Override
  public void close() {
    // There are no resources to close.
  }
}
