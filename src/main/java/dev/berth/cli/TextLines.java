package dev.berth.cli;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.encoder.EncoderBase;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import org.jspecify.annotations.Nullable;

/**
 * One line for each event: {@code 2026-11-21T11:50:22.864Z INFO BerthNode - message key="value"},
 * and a stack trace after it, if there is one.
 *
 * <p>In code and not as a pattern of logback's, whose converters take a tenth of the classes that a
 * start loads, and 0.05 s of it.
 */
final class TextLines extends EncoderBase<ILoggingEvent> {
  /** In the time zone of this machine. */
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSXXX").withZone(ZoneId.systemDefault());

  private final boolean bare;

  /**
   * @param bare the message alone
   */
  TextLines(boolean bare) {
    this.bare = bare;
  }

  @Override
  public byte[] encode(ILoggingEvent event) {
    StringBuilder line = new StringBuilder(160);
    if (bare) {
      line.append(event.getFormattedMessage());
    } else {
      TIME.formatTo(Instant.ofEpochMilli(event.getTimeStamp()), line);
      String level = event.getLevel().toString();
      write(line, level, event.getLoggerName(), event.getFormattedMessage());
      LogFields.of(event).forEach((key, value) -> field(line, key, value));
    }
    line.append('\n');
    IThrowableProxy thrown = event.getThrowableProxy();
    if (thrown != null) {
      line.append(ThrowableProxyUtil.asString(thrown));
    }
    return line.toString().getBytes(StandardCharsets.UTF_8);
  }

  /** What follows the time: the level, the logger's last name, and what is said. */
  static void write(StringBuilder line, String level, String logger, String message) {
    line.append(' ').append(level).append(" ".repeat(Math.max(0, 5 - level.length())));
    line.append(' ').append(logger, logger.lastIndexOf('.') + 1, logger.length());
    line.append(" - ").append(message);
  }

  /** In quotes, on one line: what reads the line finds where the value ends. */
  static void field(StringBuilder line, String key, @Nullable Object value) {
    line.append(' ').append(key).append("=\"");
    String text = String.valueOf(value);
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      switch (c) {
        case '"', '\\' -> line.append('\\').append(c);
        case '\n' -> line.append("\\n");
        case '\r' -> line.append("\\r");
        default -> line.append(c);
      }
    }
    line.append('"');
  }

  @Override
  public byte[] headerBytes() {
    return new byte[0];
  }

  @Override
  public byte[] footerBytes() {
    return new byte[0];
  }
}
