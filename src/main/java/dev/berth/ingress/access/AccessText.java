package dev.berth.ingress.access;

import dev.berth.config.LogEncoding;
import java.math.BigDecimal;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import java.util.Objects;

/**
 * Formatter of access-log lines. Escapes all client data, so that a line ends only at its end and
 * no field looks like another.
 *
 * <p>Source: a text line begins with Ray Serve's {@code METHOD route status latency}, followed by
 * {@code key=value}. The JSON fields have the same names.
 */
final class AccessText {
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

  private final StringBuilder line = new StringBuilder(384);
  private final boolean json;

  private AccessText(boolean json) {
    this.json = json;
  }

  static String line(AccessEntry entry) {
    return new AccessText(entry.route.encoding() == LogEncoding.JSON).of(entry);
  }

  private String of(AccessEntry entry) {
    String flag = entry.outcome.flag;
    if (json) {
      line.append("{\"time\":\"").append(time(entry)).append('"');
      field("method", entry.method);
      field("route", entry.route());
      name("status").append(entry.status);
      duration("total_ms", entry.totalNanos);
    } else {
      line.append(time(entry)).append(' ');
      plain(entry.method, line);
      line.append(' ');
      plain(entry.route(), line);
      line.append(' ').append(entry.status).append(' ');
      line.append(millis(entry.totalNanos)).append("ms");
    }
    field("path", entry.path);
    field("application", entry.route.application());
    field("deployment", entry.route.deployment());
    field("replica", entry.replica);
    name("flag").append(json ? '"' + flag + '"' : flag);
    duration("queue_ms", entry.queueNanos);
    duration("handler_ms", entry.handlerNanos);
    if (entry.cost != 1) {
      name("cost").append(entry.cost);
    }
    name("bytes_in").append(entry.bytesIn);
    name("bytes_out").append(entry.bytesOut);
    if (!entry.model.isEmpty()) {
      field("model", entry.model);
      field("api_key", entry.apiKey);
      tokens("tokens_in", entry.tokensIn);
      tokens("tokens_out", entry.tokensOut);
    }
    if (!entry.mcpMethod.isEmpty()) {
      field("mcp_method", entry.mcpMethod);
      field("mcp_tool", entry.mcpTool);
    }
    field("request_id", entry.requestId);
    field("protocol", entry.protocol);
    field("peer", entry.peer);
    if (entry.origin != null) {
      field("client", entry.origin.client());
      field("scheme", entry.origin.scheme());
      field("host", Objects.requireNonNullElse(entry.origin.host(), ""));
    }
    return json ? line.append('}').toString() : line.toString();
  }

  /** Appends a field name, ready for its value. */
  private StringBuilder name(String name) {
    return json
        ? line.append(",\"").append(name).append("\":")
        : line.append(' ').append(name).append('=');
  }

  private void field(String name, String value) {
    name(name);
    if (json) {
      quoted(value, line);
    } else {
      plain(value, line);
    }
  }

  /**
   * @param nanos negative for none
   */
  private void duration(String name, long nanos) {
    String none = json ? "null" : "-";
    name(name).append(nanos < 0 ? none : millis(nanos));
  }

  private void tokens(String name, long count) {
    if (count < 0) {
      name(name).append(json ? "null" : "-");
    } else {
      name(name).append(count);
    }
  }

  /** Appends a value: plain, {@code -} for none, or quoted if it could be misread. */
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

  /** Appends a JSON string. */
  static void quoted(String value, StringBuilder line) {
    line.append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\') {
        line.append('\\').append(c);
      } else if (isEscaped(c)) {
        line.append("\\u").append(HexFormat.of().toHexDigits(c));
      } else {
        line.append(c);
      }
    }
    line.append('"');
  }

  /**
   * Returns whether to escape a character: controls, line ends, text direction marks and
   * surrogates.
   */
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

  /** Returns milliseconds with three decimal places. */
  private static BigDecimal millis(long nanos) {
    return BigDecimal.valueOf(Math.max(0, nanos) / 1_000, 3);
  }
}
