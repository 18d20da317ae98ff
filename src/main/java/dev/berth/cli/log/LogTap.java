package dev.berth.cli.log;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import dev.berth.view.LogFeed;
import dev.berth.view.LogLine;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * Tap on the log of the process, beside the log's other appenders. The tap also works with
 * logback's own configuration, whose levels then apply. The access log has its own appender and is
 * not included. Levels can be set only if the configuration is Berth's own.
 */
public record LogTap(LoggerContext context) implements LogFeed {

  /** Returns the tap on the log of this process. */
  public static LogFeed ofProcess() {
    return LoggerFactory.getILoggerFactory() instanceof LoggerContext context
        ? new LogTap(context)
        : LogFeed.NONE;
  }

  @Override
  public Runnable to(Consumer<LogLine> sink) {
    UnsynchronizedAppenderBase<ILoggingEvent> appender =
        new UnsynchronizedAppenderBase<>() {
          @Override
          protected void append(ILoggingEvent event) {
            sink.accept(line(event));
          }
        };
    appender.setContext(context);
    appender.setName("log-ring");
    appender.start();
    Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    root.addAppender(appender);
    return () -> {
      root.detachAppender(appender);
      appender.stop();
    };
  }

  @Override
  public void level(String logger, @Nullable String level) {
    Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    if (root.getAppender(DefaultLogging.APPENDER) != null) {
      context.getLogger(logger).setLevel(level == null ? null : Level.toLevel(level));
    }
  }

  private static LogLine line(ILoggingEvent event) {
    Map<String, String> fields = new LinkedHashMap<>();
    LogFields.of(event).forEach((key, value) -> fields.put(key, LogFields.text(value)));
    return new LogLine(
        event.getTimeStamp(),
        event.getLevel().toString(),
        event.getLoggerName(),
        event.getThreadName(),
        String.valueOf(event.getFormattedMessage()),
        fields,
        LogFields.stack(event));
  }
}
