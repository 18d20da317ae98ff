package dev.berth.config;

import dev.berth.config.keys.Key;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import java.util.List;

/**
 * {@code logging_config}: what is logged, and how. One of a deployment stands in place of that of
 * its application, and that in place of the file's, each as a whole, as in Ray Serve. The access
 * log is off by default, where Ray Serve has it on.
 */
public final class LoggingOptions {

  private static final Keys KEYS = new Keys();

  public static final Key<LogEncoding> ENCODING =
      KEYS.key(
              "encoding",
              Types.choice(List.of(LogEncoding.TEXT, LogEncoding.JSON)),
              LogEncoding.TEXT)
          .means("How a line of the log is written.");
  public static final Key<LogLevel> LOG_LEVEL =
      KEYS.key("log_level", LogLevel.TYPE, LogLevel.INFO)
          .means("Least severe event that is logged.");
  public static final Key<Boolean> ENABLE_ACCESS_LOG =
      KEYS.key("enable_access_log", Types.BOOL, false)
          .means(
              "Whether each request is logged. Ray Serve's default is true; here a line for each"
                  + " request is asked for.");

  static final Section SECTION =
      Section.of(
          ENCODING,
          LOG_LEVEL,
          ENABLE_ACCESS_LOG,
          Key.noEffect("logs_dir", Types.TEXT, "the log goes to standard error"),
          Key.<List<String>>noEffect(
              "additional_log_standard_attrs",
              Types.list(Types.TEXT),
              "the attributes of a Python log record do not exist here"));

  /** What a file that says nothing gives. */
  public static final Settings DEFAULTS = SECTION.empty();

  private LoggingOptions() {}
}
