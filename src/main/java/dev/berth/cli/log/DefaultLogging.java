package dev.berth.cli.log;

import ch.qos.logback.classic.ClassicConstants;
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.Layout;
import ch.qos.logback.core.encoder.LayoutWrappingEncoder;
import ch.qos.logback.core.spi.ContextAwareBase;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.slf4j.Logger;

/**
 * Default logging: one line per event on standard error, from INFO up. {@code
 * -Dlogback.configurationFile=FILE}, or logback's own file on the class path, replaces it.
 *
 * <p>Configured in code, because reading a {@code logback.xml} takes 0.25 s of processor time at
 * every start; the budget from the start to the first response is 1 s. Logback finds this class
 * through {@code META-INF/services}, before it looks for files.
 */
public final class DefaultLogging extends ContextAwareBase implements Configurator {

  /** Name of the appender of all loggers but the access log. */
  static final String APPENDER = "standard-error";

  /** Logger of access log lines, which are complete and have the configured encoding. */
  static final String ACCESS_LOGGER = "berth.access";

  /** Appenders that write to standard error, with their loggers. */
  static final Map<String, String> APPENDERS =
      Map.of(APPENDER, Logger.ROOT_LOGGER_NAME, "access", ACCESS_LOGGER);

  @Override
  public ExecutionStatus configure(LoggerContext context) {
    if (isFileGiven()) {
      return ExecutionStatus.INVOKE_NEXT_IF_ANY;
    }
    configureDefaults(context);
    return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
  }

  static void configureDefaults(LoggerContext context) {
    context
        .getLogger(Logger.ROOT_LOGGER_NAME)
        .addAppender(standardError(context, APPENDER, Terminal.formOfLog()));
    setLevel(context, Level.INFO);
    context
        .getLogger(StandardStreamLogger.OUT)
        .setLevel(Level.INFO); // printed lines are always visible
    context.getLogger(StandardStreamLogger.ERR).setLevel(Level.INFO);
    ch.qos.logback.classic.Logger access = context.getLogger(ACCESS_LOGGER);
    access.setLevel(Level.INFO); // a route requests these lines
    access.setAdditive(false);
    access.addAppender(standardError(context, "access", TextLines.LogLineForm.BARE));
  }

  /** Sets the minimum level of the log; the libraries below the server log at least WARN. */
  static void setLevel(LoggerContext context, Level level) {
    context.getLogger(Logger.ROOT_LOGGER_NAME).setLevel(level);
    Level underneath = level.isGreaterOrEqual(Level.WARN) ? level : Level.WARN;
    context.getLogger("io.netty").setLevel(underneath);
    context.getLogger("io.vertx").setLevel(underneath);
    // Vert.x logs a port in use and each failed connection of the event bus between nodes with a
    // stack. Berth reports them in one line.
    context.getLogger("io.vertx.core.impl.VertxImpl").setLevel(Level.OFF);
    context
        .getLogger("io.vertx.core.eventbus.impl.clustered.ClusteredEventBus")
        .setLevel(Level.ERROR);
    context.getLogger("org.apache.ratis").setLevel(underneath);
  }

  private static ConsoleAppender<ILoggingEvent> standardError(
      LoggerContext context, String name, TextLines.LogLineForm form) {
    ConsoleAppender<ILoggingEvent> appender = new ConsoleAppender<>();
    appender.setContext(context);
    appender.setName(name);
    appender.setTarget("System.err");
    write(appender, new TextLines(form));
    appender.start();
    return appender;
  }

  /** Sets the layout of an appender. */
  static void write(ConsoleAppender<ILoggingEvent> appender, Layout<ILoggingEvent> lines) {
    LayoutWrappingEncoder<ILoggingEvent> encoder = new LayoutWrappingEncoder<>();
    encoder.setContext(appender.getContext());
    encoder.setCharset(StandardCharsets.UTF_8);
    encoder.setLayout(lines);
    encoder.start();
    appender.setEncoder(encoder);
  }

  private static boolean isFileGiven() {
    ClassLoader loader = DefaultLogging.class.getClassLoader();
    return System.getProperty(ClassicConstants.CONFIG_FILE_PROPERTY) != null
        || loader.getResource(ClassicConstants.TEST_AUTOCONFIG_FILE) != null
        || loader.getResource(ClassicConstants.AUTOCONFIG_FILE) != null;
  }
}
