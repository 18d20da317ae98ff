package dev.berth.config;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** {@code log_level}: the least severe event that is logged. */
public enum LogLevel {
  /** Everything Berth has to say. */
  DEBUG,
  /** Transitions: started, drained, replica stopped. */
  INFO,
  /** What somebody should look at. */
  WARN,
  /** What failed. */
  ERROR;

  static final List<Object> WORDS =
      List.of("DEBUG", "INFO", "WARN", "ERROR", "WARNING", "CRITICAL", "FATAL", 10, 20, 30, 40, 50);

  static final String EXPECTED = "DEBUG, INFO, WARN or ERROR, or Python's number for one";

  /** The names and numbers of Python's {@code logging}, which Ray Serve takes. */
  private static final Map<String, LogLevel> PYTHON =
      Map.of(
          "10",
          DEBUG,
          "20",
          INFO,
          "30",
          WARN,
          "WARNING",
          WARN,
          "40",
          ERROR,
          "50",
          ERROR,
          "CRITICAL",
          ERROR,
          "FATAL",
          ERROR);

  /** Null when {@code text} names no level. */
  static @Nullable LogLevel parse(String text) {
    for (LogLevel level : values()) {
      if (level.name().equals(text)) {
        return level;
      }
    }
    return PYTHON.get(text);
  }
}
