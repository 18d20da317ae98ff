package dev.berth.cli.log;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.LayoutBase;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Text layout of the log, one line for each event: {@code 2026-11-21T11:50:22.864Z INFO BerthNode -
 * message key="value"}, followed by the stack trace, if any. Pairs that the message repeats are
 * omitted, and long values are truncated. On a terminal the time is the time of day, and colours
 * mark important parts.
 *
 * <p>Written in code, because the converters of a logback pattern take a tenth of the classes
 * loaded at a start, and 0.05 s of it.
 */
public final class TextLines extends LayoutBase<ILoggingEvent> {
  /** Destination of a line. */
  public enum LogLineForm {
    /** Only the message. */
    BARE,
    /** A file, or any program that reads standard error. */
    FILE,
    /** A terminal without colours. */
    TERMINAL,
    COLOURS
  }

  /** Maximum characters of a value; JSON lines have the whole value. */
  private static final int MAX_VALUE_CHARS = 200;

  /** Fields without use on a terminal. */
  private static final Set<String> FOR_PROGRAMS =
      Set.of("version", "trigger", "revision", "stack", "session_id");

  private static final String DIM = "\u001b[2m";
  private static final String YELLOW = "\u001b[33m";
  private static final String RED = "\u001b[31m";
  private static final String PLAIN = "\u001b[0m";

  private final LogLineForm form;
  private final DateTimeFormatter time; // in this machine's time zone

  /** Creates the layout of a form. */
  public TextLines(LogLineForm form) {
    this.form = form;
    String pattern = form == LogLineForm.FILE ? "uuuu-MM-dd'T'HH:mm:ss.SSSXXX" : "HH:mm:ss.SSS";
    this.time = DateTimeFormatter.ofPattern(pattern).withZone(ZoneId.systemDefault());
  }

  @Override
  public String doLayout(ILoggingEvent event) {
    String message = String.valueOf(event.getFormattedMessage());
    if (form == LogLineForm.BARE) {
      return message + '\n';
    }
    StringBuilder line = new StringBuilder(160);
    String at = time.format(Instant.ofEpochMilli(event.getTimeStamp()));
    head(line, at, event.getLevel().toString(), event.getLoggerName());
    shown(line, message, "\n    ");
    StringBuilder pairs = new StringBuilder();
    Map<String, @Nullable Object> fields = LogFields.of(event);
    if (form != LogLineForm.FILE) {
      fields.keySet().removeAll(FOR_PROGRAMS);
    }
    pairs(pairs, message, fields);
    coloured(line, DIM, pairs).append('\n');
    String stack = LogFields.stack(event);
    if (stack != null) {
      shown(line, stack, "\n");
    }
    return line.toString();
  }

  /** Appends the part before the message: time, level, and the last part of the logger's name. */
  public void head(StringBuilder line, String at, String level, String logger) {
    coloured(line, DIM, at).append(' ');
    coloured(line, level.equals("ERROR") ? RED : level.equals("WARN") ? YELLOW : "", level);
    line.append(" ".repeat(Math.max(0, 5 - level.length()))).append(' ');
    if (form == LogLineForm.FILE || !LogFields.isServers(logger)) {
      line.append(logger, logger.lastIndexOf('.') + 1, logger.length()).append(" - ");
    }
  }

  private StringBuilder coloured(StringBuilder line, String colour, CharSequence text) {
    return form == LogLineForm.COLOURS && !colour.isEmpty() && text.length() > 0
        ? line.append(colour).append(text).append(PLAIN)
        : line.append(text);
  }

  /**
   * Appends the fields whose values are neither in the message nor in the replica's name, which
   * begins with the application and the deployment.
   */
  public static void pairs(
      StringBuilder line, String message, Map<String, @Nullable Object> fields) {
    String replica = fields.containsKey("replica") ? LogFields.text(fields.get("replica")) : "";
    fields.forEach(
        (key, value) -> {
          String text = LogFields.text(value);
          boolean said =
              text.isEmpty()
                  || isSaid(text, message)
                  || (!key.equals("replica") && isSaid(text, replica));
          if (!said) {
            quoted(line.append(' ').append(key).append('='), text);
          }
        });
  }

  /** Returns whether a text contains a value as a whole word or number. */
  private static boolean isSaid(String value, String text) {
    for (int at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
      int end = at + value.length();
      if ((at == 0 || !isOfWord(text.charAt(at - 1)))
          && (end == text.length() || !isOfWord(text.charAt(end)))) {
        return true;
      }
    }
    return false;
  }

  private static boolean isOfWord(char c) {
    return Character.isLetterOrDigit(c) || c == '_' || c == '-' || c == '.';
  }

  /**
   * Appends foreign text. Its control characters are replaced, so that it neither draws on a
   * terminal nor imitates another line.
   *
   * @param lineEnd replacement of a line end
   */
  private static void shown(StringBuilder line, String text, String lineEnd) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '\n') {
        line.append(lineEnd);
      } else if (c != '\r' || i + 1 == text.length() || text.charAt(i + 1) != '\n') {
        line.append(Character.isISOControl(c) && c != '\t' ? '?' : c);
      }
    }
  }

  /** Appends a value in quotes, on one line, so that programs find the end of the value. */
  private static void quoted(StringBuilder line, String text) {
    line.append('"');
    for (int i = 0; i < Math.min(text.length(), MAX_VALUE_CHARS); i++) {
      char c = text.charAt(i);
      switch (c) {
        case '"', '\\' -> line.append('\\').append(c);
        case '\n' -> line.append("\\n");
        case '\r' -> line.append("\\r");
        default -> line.append(Character.isISOControl(c) && c != '\t' ? '?' : c);
      }
    }
    line.append(text.length() > MAX_VALUE_CHARS ? "...\"" : "\"");
  }
}
