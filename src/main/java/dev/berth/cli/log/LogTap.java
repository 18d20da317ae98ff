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
 * Hands on what is logged, beside what the log's other appenders do with it: also when logback has
 * a configuration of its own, whose levels hold. The access log has its own appender and is not in
 * it. Levels are set where the log is Berth's own.
 */
public record LogTap(LoggerContext context) implements LogFeed {

  /** That of this process. */
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
