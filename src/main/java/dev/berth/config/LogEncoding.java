package dev.berth.config;

/** {@code encoding}: the format of log lines. */
public enum LogEncoding {
  /** A line of text for each event. */
  TEXT,
  /** A JSON object for each event. */
  JSON
}
