package dev.berth.cli;

import ch.qos.logback.classic.ClassicConstants;
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.spi.ContextAwareBase;
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

  private static final String LINE =
      "%d{\"yyyy-MM-dd'T'HH:mm:ss.SSSXXX\"} %-5level %logger{0} - %msg%replace( %kvp){'^ $', ''}%n";

  @Override
  public ExecutionStatus configure(LoggerContext context) {
    if (isFileGiven()) {
      return ExecutionStatus.INVOKE_NEXT_IF_ANY;
    }
    configureDefaults(context);
    return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
  }

  static void configureDefaults(LoggerContext context) {
    PatternLayoutEncoder encoder = new PatternLayoutEncoder();
    encoder.setContext(context);
    encoder.setPattern(LINE);
    encoder.start();

    ConsoleAppender<ILoggingEvent> standardError = new ConsoleAppender<>();
    standardError.setContext(context);
    standardError.setTarget("System.err");
    standardError.setEncoder(encoder);
    standardError.start();

    ch.qos.logback.classic.Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
    root.setLevel(Level.INFO);
    root.addAppender(standardError);
    context.getLogger("io.netty").setLevel(Level.WARN);
    context.getLogger("io.vertx").setLevel(Level.WARN);
  }

  private static boolean isFileGiven() {
    ClassLoader loader = DefaultLogging.class.getClassLoader();
    return System.getProperty(ClassicConstants.CONFIG_FILE_PROPERTY) != null
        || loader.getResource(ClassicConstants.TEST_AUTOCONFIG_FILE) != null
        || loader.getResource(ClassicConstants.AUTOCONFIG_FILE) != null;
  }
}
