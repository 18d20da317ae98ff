package dev.berth.ingress.access;

import dev.berth.config.LogEncoding;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/**
 * Writes lines of the access log. Whatever a client sent is escaped: no line ends but where it
 * should, and no field is mistaken for another.
 *
 * <p>Source: Ray Serve's {@code METHOD route status latency} comes first in text, then {@code
 * key=value}; the fields of JSON have the same names.
 */
final class AccessText {
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);
  private static final String HEX = "0123456789abcdef";

  private AccessText() {}

  static String line(AccessEntry entry) {
    StringBuilder line = new StringBuilder(384);
    if (entry.route.encoding() == LogEncoding.JSON) {
      json(entry, line);
    } else {
      text(entry, line);
    }
    return line.toString();
  }

  private static void text(AccessEntry entry, StringBuilder line) {
    line.append(time(entry)).append(' ');
    plain(entry.method, line);
    line.append(' ');
    plain(entry.route.route(), line);
    line.append(' ').append(entry.status).append(' ');
    millis(entry.totalNanos, line);
    line.append("ms");
    field("path", entry.path, line);
    field("application", entry.route.application(), line);
    field("deployment", entry.route.deployment(), line);
    field("replica", entry.replica, line);
    line.append(" flag=").append(entry.outcome.flag()).append(" queue_ms=");
    millisOrNone(entry.queueNanos, "-", line);
    line.append(" handler_ms=");
    millisOrNone(entry.handlerNanos, "-", line);
    line.append(" bytes_in=").append(entry.bytesIn);
    line.append(" bytes_out=").append(entry.bytesOut);
    field("request_id", entry.requestId, line);
    field("protocol", entry.protocol, line);
    field("peer", entry.peer, line);
  }

  private static void field(String name, String value, StringBuilder line) {
    line.append(' ').append(name).append('=');
    plain(value, line);
  }

  /** A value as it is, {@code -} for none, or in quotes when it could be mistaken. */
  private static void plain(String value, StringBuilder line) {
    if (value.isEmpty()) {
      line.append('-');
    } else if (isPlain(value)) {
      line.append(value);
    } else {
      quoted(value, line);
    }
  }

  private static boolean isPlain(String value) {
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == ' ' || c == '"' || c == '\\' || c == '=' || isEscaped(c)) {
        return false;
      }
    }
    return !value.equals("-");
  }

  private static void json(AccessEntry entry, StringBuilder line) {
    line.append("{\"time\":\"").append(time(entry)).append('"');
    text("method", entry.method, line);
    text("route", entry.route.route(), line);
    text("path", entry.path, line);
    text("application", entry.route.application(), line);
    text("deployment", entry.route.deployment(), line);
    text("replica", entry.replica, line);
    line.append(",\"status\":").append(entry.status);
    text("flag", entry.outcome.flag(), line);
    line.append(",\"queue_ms\":");
    millisOrNone(entry.queueNanos, "null", line);
    line.append(",\"handler_ms\":");
    millisOrNone(entry.handlerNanos, "null", line);
    line.append(",\"total_ms\":");
    millis(entry.totalNanos, line);
    line.append(",\"bytes_in\":").append(entry.bytesIn);
    line.append(",\"bytes_out\":").append(entry.bytesOut);
    text("request_id", entry.requestId, line);
    text("protocol", entry.protocol, line);
    text("peer", entry.peer, line);
    line.append('}');
  }

  private static void text(String name, String value, StringBuilder line) {
    line.append(",\"").append(name).append("\":");
    quoted(value, line);
  }

  /** As a JSON string. */
  static void quoted(String value, StringBuilder line) {
    line.append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        line.append('\\').append(c);
      } else if (isEscaped(c)) {
        line.append("\\u");
        for (int shift = 12; shift >= 0; shift -= 4) {
          line.append(HEX.charAt((c >> shift) & 0xF));
        }
      } else {
        line.append(c);
      }
    }
    line.append('"');
  }

  /** Controls, what ends a line somewhere, what turns text around, and halves of characters. */
  private static boolean isEscaped(char c) {
    return c < ' '
        || (c >= 0x7f && c <= 0x9f)
        || Character.isSurrogate(c)
        || Character.getType(c) == Character.FORMAT
        || c == '\u2028'
        || c == '\u2029';
  }

  private static String time(AccessEntry entry) {
    return TIME.format(Instant.ofEpochMilli(entry.arrivedMillis));
  }

  private static void millisOrNone(long nanos, String none, StringBuilder line) {
    if (nanos < 0) {
      line.append(none);
    } else {
      millis(nanos, line);
    }
  }

  /** Milliseconds with three digits behind the point. */
  private static void millis(long nanos, StringBuilder line) {
    long micros = Math.max(0, nanos) / 1_000;
    long rest = micros % 1_000;
    line.append(micros / 1_000).append('.');
    line.append((char) ('0' + rest / 100));
    line.append((char) ('0' + rest / 10 % 10));
    line.append((char) ('0' + rest % 10));
  }
}
