package dev.berth.config;

import dev.berth.config.keys.Schema;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.Types;
import java.util.List;
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

  private static final List<Object> KNOWN =
      List.of("DEBUG", "INFO", "WARN", "ERROR", "WARNING", "CRITICAL", "FATAL", 10, 20, 30, 40, 50);

  /** By name or by Python's number. */
  static final Type<LogLevel> TYPE =
      Types.parsed(
          "DEBUG, INFO, WARN or ERROR, or Python's number for one",
          LogLevel::parse,
          Schema.oneOf(KNOWN));

  /** Null when {@code text} names no level. */
  static @Nullable LogLevel parse(String text) {
    return switch (text) { // the others are names and numbers of Python's logging
      case "DEBUG", "10" -> DEBUG;
      case "INFO", "20" -> INFO;
      case "WARN", "WARNING", "30" -> WARN;
      case "ERROR", "CRITICAL", "FATAL", "40", "50" -> ERROR;
      default -> null;
    };
  }
}
