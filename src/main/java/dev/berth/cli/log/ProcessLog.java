package dev.berth.cli.log;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.ConsoleAppender;
import dev.berth.code.CallerApplicationResolver;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.LogEncoding;
import dev.berth.config.LoggingOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.Settings;
import dev.berth.protocol.UserFailure;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * Application of {@code logging_config} to the log of this process. The file's own level and
 * encoding apply to all loggers. The level of an application or a deployment applies to its
 * loggers, {@code application} and {@code application.deployment}. Logback's own configuration
 * takes precedence over all of it.
 */
public final class ProcessLog {
  private ProcessLog() {}

  /**
   * Applies the configuration. From now on the log also includes printed text, and errors that end
   * threads.
   *
   * @return ends the capture of printed text
   */
  public static Runnable apply(ServeConfig config) {
    Thread.setDefaultUncaughtExceptionHandler(ProcessLog::threadEnded);
    if (LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
      apply(config, context);
      return StandardStreamLogger.take(context);
    }
    return () -> {};
  }

  /** Omits lines of Berth below WARN from now on, unless the file requests DEBUG or TRACE. */
  public static void hideProgress(ServeConfig config) {
    boolean wanted = !level(config.get(ServeConfig.LOGGING_CONFIG)).isGreaterOrEqual(Level.INFO);
    if (!wanted && LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
      context.getLogger("dev.berth").setLevel(Level.WARN);
    }
  }

  private static void threadEnded(Thread thread, Throwable thrown) {
    Throwable told = UserFailure.legible(thrown);
    LoggingEventBuilder line = LoggerFactory.getLogger("uncaught").atError().setCause(told);
    String application = CallerApplicationResolver.thatThrew(told);
    if (application != null) {
      line = line.addKeyValue("application", application);
    }
    line.log("thread {} ended", thread.getName());
  }

  static void apply(ServeConfig config, LoggerContext context) {
    Settings logging = config.get(ServeConfig.LOGGING_CONFIG);
    Appender<ILoggingEvent> appender =
        context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME).getAppender(DefaultLogging.APPENDER);
    if (!(appender instanceof ConsoleAppender<ILoggingEvent> standardError)) {
      if (!logging.equals(LoggingOptions.DEFAULTS)) {
        LoggerFactory.getLogger(ProcessLog.class)
            .warn("logging_config: level and encoding: set by logback's own configuration");
      }
      return;
    }
    if (logging.get(LoggingOptions.ENCODING) == LogEncoding.JSON) {
      DefaultLogging.write(standardError, new JsonLines());
    }
    DefaultLogging.setLevel(context, level(logging));
    for (ApplicationConfig application : config.applications()) {
      Settings ofApplication = application.get(ApplicationConfig.LOGGING_CONFIG);
      setLevel(context, application.name(), ofApplication, logging);
      for (Settings deployment : application.deployments()) {
        String logger = application.name() + "." + deployment.get(DeploymentConfig.NAME);
        Settings own = deployment.get(DeploymentConfig.LOGGING_CONFIG);
        setLevel(context, logger, own, ofApplication);
      }
    }
  }

  private static void setLevel(
      LoggerContext context, String logger, Settings logging, Settings outer) {
    if (level(logging) != level(outer)) {
      context.getLogger(logger).setLevel(level(logging));
    }
  }

  private static Level level(Settings logging) {
    return Level.toLevel(logging.get(LoggingOptions.LOG_LEVEL).name());
  }
}
