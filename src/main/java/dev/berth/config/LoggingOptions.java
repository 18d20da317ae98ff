package dev.berth.config;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Schema;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.Types;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.event.Level;

/**
 * {@code logging_config}: the content and format of the log. A deployment's settings replace those
 * of its application, and the application's replace the file's, each as a whole, as in Ray Serve.
 * The access log is off by default; Ray Serve's is on.
 */
public final class LoggingOptions {

  private static final List<Object> LEVELS =
      List.of("DEBUG", "INFO", "WARN", "ERROR", "WARNING", "CRITICAL", "FATAL", 10, 20, 30, 40, 50);

  /** Level by name or by Python's number. */
  private static final Type<Level> LEVEL =
      Types.parsed(
          "DEBUG, INFO, WARN or ERROR, or Python's number for one",
          LoggingOptions::level,
          Schema.oneOf(LEVELS));

  private static final Keys KEYS = new Keys();

  public static final ConfigKey<LogEncoding> ENCODING =
      KEYS.key(
              "encoding",
              Types.choice(List.of(LogEncoding.TEXT, LogEncoding.JSON)),
              LogEncoding.TEXT)
          .means("Format of the log lines.");
  public static final ConfigKey<Level> LOG_LEVEL =
      KEYS.key("log_level", LEVEL, Level.INFO).means("Minimum level of logged events.");
  public static final ConfigKey<Boolean> ENABLE_ACCESS_LOG =
      KEYS.key("enable_access_log", Types.BOOL, false)
          .means(
              "Whether each request is logged. Ray Serve's default is true; in Berth it must be"
                  + " enabled.");

  static final Section SECTION =
      Section.of(
          ENCODING,
          LOG_LEVEL,
          ENABLE_ACCESS_LOG,
          ConfigKey.noEffect("logs_dir", Types.TEXT, "the log goes to standard error"),
          ConfigKey.<List<String>>noEffect(
              "additional_log_standard_attrs",
              Types.list(Types.TEXT),
              "Python log record attributes do not exist here"));

  /** Default settings. */
  public static final Settings DEFAULTS = SECTION.empty();

  private LoggingOptions() {}

  /** Returns the level; null for an unknown name. */
  private static @Nullable Level level(String text) {
    return switch (text) { // includes names and numbers of Python's logging
      case "DEBUG", "10" -> Level.DEBUG;
      case "INFO", "20" -> Level.INFO;
      case "WARN", "WARNING", "30" -> Level.WARN;
      case "ERROR", "CRITICAL", "FATAL", "40", "50" -> Level.ERROR;
      default -> null;
    };
  }
}
