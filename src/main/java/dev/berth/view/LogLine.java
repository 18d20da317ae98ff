package dev.berth.view;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A log event of the process.
 *
 * @param atMs time in milliseconds since 1970
 * @param level {@code TRACE}, {@code DEBUG}, {@code INFO}, {@code WARN} or {@code ERROR}
 * @param logger name; {@code application.deployment} for handlers of a deployment
 * @param thread that logged the event
 * @param message formatted
 * @param fields logged with the message, in order
 * @param exception stack trace; null for none
 */
public record LogLine(
    long atMs,
    String level,
    String logger,
    String thread,
    String message,
    Map<String, String> fields,
    @Nullable String exception) {}
