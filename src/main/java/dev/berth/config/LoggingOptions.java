package dev.berth.config;

import java.util.List;

/**
 * {@code logging_config}: what is logged, and how. One of a deployment stands in place of that of
 * its application, and that in place of the file's, each as a whole, as in Ray Serve.
 *
 * @param encoding of a line
 * @param level least severe event that is logged
 * @param accessLog whether each request is logged; off by default, where Ray Serve has it on
 */
public record LoggingOptions(LogEncoding encoding, LogLevel level, boolean accessLog) {

  static final Key<LogEncoding> ENCODING =
      Key.of(
          "encoding",
          Types.choice(List.of(LogEncoding.TEXT, LogEncoding.JSON)),
          Defaults.LOG_ENCODING,
          "How a line of the log is written.");
  static final Key<LogLevel> LOG_LEVEL =
      Key.of(
          "log_level", Types.logLevel(), Defaults.LOG_LEVEL, "Least severe event that is logged.");
  static final Key<Boolean> ENABLE_ACCESS_LOG =
      Key.of(
          "enable_access_log",
          Types.bool(),
          Defaults.ENABLE_ACCESS_LOG,
          "Whether each request is logged. Ray Serve's default is true; here a line for each"
              + " request is asked for.");

  static final Section SECTION =
      Section.of(
          ENCODING,
          LOG_LEVEL,
          ENABLE_ACCESS_LOG,
          Key.noEffect("logs_dir", Types.text(), "the log goes to standard error"),
          Key.<List<String>>noEffect(
              "additional_log_standard_attrs",
              Types.list(Types.text()),
              "the attributes of a Python log record do not exist here"));

  /** What a file that says nothing gives. */
  public static LoggingOptions defaults() {
    return from(Values.empty(SECTION));
  }

  static LoggingOptions from(Values values) {
    return new LoggingOptions(
        values.get(ENCODING), values.get(LOG_LEVEL), values.get(ENABLE_ACCESS_LOG));
  }
}
