package dev.berth.view;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One event of the process's log.
 *
 * @param atMs when, in milliseconds since 1970
 * @param level {@code TRACE}, {@code DEBUG}, {@code INFO}, {@code WARN} or {@code ERROR}
 * @param logger its name; that of a deployment's handlers is {@code application.deployment}
 * @param thread that logged it
 * @param message formatted
 * @param fields what it was logged with beside its message, in that order
 * @param exception its stack trace; null for none
 */
public record LogLine(
    long atMs,
    String level,
    String logger,
    String thread,
    String message,
    Map<String, String> fields,
    @Nullable String exception) {
  public LogLine {
    fields = Collections.unmodifiableMap(new LinkedHashMap<>(fields));
  }
}
