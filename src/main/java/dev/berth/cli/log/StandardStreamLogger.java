package dev.berth.cli.log;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.OutputStreamAppender;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.slf4j.event.Level;

/**
 * Stream that turns printed text into log lines: through the loggers {@code stdout}, at INFO, and
 * {@code stderr}, at WARN. A line belongs to the code that ended it. A line longer than {@link
 * #MAX_BYTES} becomes several. With logback's own configuration, printed text is not captured,
 * because that configuration may print itself.
 */
final class StandardStreamLogger extends OutputStream {
  static final String OUT = "stdout";
  static final String ERR = "stderr";

  /** Maximum bytes of a line. */
  static final int MAX_BYTES = 16 << 10;

  private final Logger log;
  private final Level level;
  private final PrintStream real;

  // Guarded by this; callers already hold the print stream's own lock.
  private final ByteArrayOutputStream begun = new ByteArrayOutputStream();
  private boolean logging; // then output, of the log itself, goes to the real stream

  StandardStreamLogger(Logger log, Level level, PrintStream real) {
    this.log = log;
    this.level = level;
    this.real = real;
  }

  /**
   * Captures printed text from now on, if the log configuration is Berth's own.
   *
   * @return ends the capture, and logs incomplete lines
   */
  static Runnable take(LoggerContext context) {
    PrintStream out = System.out;
    PrintStream err = System.err;
    for (Map.Entry<String, String> each : DefaultLogging.APPENDERS.entrySet()) {
      if (!(context.getLogger(each.getValue()).getAppender(each.getKey())
          instanceof OutputStreamAppender<ILoggingEvent> appender)) {
        return () -> {};
      }
      appender.setOutputStream(err); // else it would print into this stream
    }
    StandardStreamLogger fromOut =
        new StandardStreamLogger(context.getLogger(OUT), Level.INFO, out);
    StandardStreamLogger fromErr =
        new StandardStreamLogger(context.getLogger(ERR), Level.WARN, err);
    System.setOut(new PrintStream(fromOut, true, StandardCharsets.UTF_8));
    System.setErr(new PrintStream(fromErr, true, StandardCharsets.UTF_8));
    return () -> {
      System.setOut(out);
      System.setErr(err);
      fromOut.write('\n');
      fromErr.write('\n');
    };
  }

  @Override
  public void write(int b) {
    write(new byte[] {(byte) b}, 0, 1);
  }

  @Override
  public synchronized void write(byte[] bytes, int offset, int length) {
    if (logging) {
      real.write(bytes, offset, length);
      return;
    }
    // collected first, since logging may print into this buffer
    List<String> whole = new ArrayList<>();
    for (int i = offset; i < offset + length; i++) {
      boolean inCharacter = (bytes[i] & 0xC0) == 0x80;
      boolean ends = bytes[i] == '\n';
      if (ends || (begun.size() >= MAX_BYTES && !inCharacter)) {
        whole.add(begun.toString(StandardCharsets.UTF_8).stripTrailing());
        begun.reset();
      }
      if (!ends) {
        begun.write(bytes[i]);
      }
    }
    logging = true;
    try {
      whole.stream().filter(line -> !line.isEmpty()).forEach(line -> log.atLevel(level).log(line));
    } finally {
      logging = false;
    }
  }
}
