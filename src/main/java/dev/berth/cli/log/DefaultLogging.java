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
 * Logging when nobody says otherwise: one line per event on standard error, from INFO up. {@code
 * -Dlogback.configurationFile=FILE}, or logback's own file on the class path, replaces it.
 *
 * <p>In code and not in a {@code logback.xml} of ours, because reading one takes 0.25 s of
 * processor time at every start; the start to the first answer has 1 s. Found by logback through
 * {@code META-INF/services}, which it asks before it looks for files.
 */
public final class DefaultLogging extends ContextAwareBase implements Configurator {

  /** The appender of everything but the access log. */
  static final String APPENDER = "standard-error";

  /** Its lines are whole and in the encoding they are asked for. */
  static final String ACCESS_LOGGER = "berth.access";

  /** The appenders that write to standard error, and the loggers that have them. */
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
    context.getLogger(PrintedLines.OUT).setLevel(Level.INFO); // who prints wants it to be seen
    context.getLogger(PrintedLines.ERR).setLevel(Level.INFO);
    ch.qos.logback.classic.Logger access = context.getLogger(ACCESS_LOGGER);
    access.setLevel(Level.INFO); // who asks for these lines gets them
    access.setAdditive(false);
    access.addAppender(standardError(context, "access", TextLines.Form.BARE));
  }

  /** The least severe event that is logged; of the server underneath, nothing below WARN. */
  static void setLevel(LoggerContext context, Level level) {
    context.getLogger(Logger.ROOT_LOGGER_NAME).setLevel(level);
    Level underneath = level.isGreaterOrEqual(Level.WARN) ? level : Level.WARN;
    context.getLogger("io.netty").setLevel(underneath);
    context.getLogger("io.vertx").setLevel(underneath);
    context.getLogger("org.apache.ratis").setLevel(underneath);
  }

  private static ConsoleAppender<ILoggingEvent> standardError(
      LoggerContext context, String name, TextLines.Form form) {
    ConsoleAppender<ILoggingEvent> appender = new ConsoleAppender<>();
    appender.setContext(context);
    appender.setName(name);
    appender.setTarget("System.err");
    write(appender, new TextLines(form));
    appender.start();
    return appender;
  }

  /** What goes through an appender is written as these lines. */
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
