package dev.berth.config;

/** {@code encoding}: how a line of the log is written. */
public enum LogEncoding {
  /** One line of text for each event. */
  TEXT,
  /** One JSON object for each event. */
  JSON
}
