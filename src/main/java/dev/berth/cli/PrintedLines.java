package dev.berth.cli;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.OutputStreamAppender;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.event.Level;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * What programs print, as lines of the log: through the loggers {@code stdout}, at level INFO, and
 * {@code stderr}, at WARN, with whose code it was that printed. A line is one when its end has
 * come, or another thread prints, or it is as long as {@link #MAX_BYTES}. Where logback has a
 * configuration of its own, nothing is taken: it may print there itself.
 */
final class PrintedLines extends OutputStream {
  static final String OUT = "stdout";
  static final String ERR = "stderr";

  /** Bytes of a line; one that is longer becomes several. */
  static final int MAX_BYTES = 16 << 10;

  private record Line(String text, Map<String, @Nullable Object> of) {}

  private final Logger log;
  private final Level level;
  private final PrintStream real;

  // Under the lock, which is this: whoever prints has the print stream's already.
  private final ByteArrayOutputStream begun = new ByteArrayOutputStream();
  private @Nullable Thread by;
  private Map<String, @Nullable Object> of = Map.of(); // whose it is that has begun
  private boolean logging; // what is printed meanwhile, by the log itself, goes to the real one

  PrintedLines(Logger log, Level level, PrintStream real) {
    this.log = log;
    this.level = level;
    this.real = real;
  }

  /**
   * Takes what is printed from now on, if the log is Berth's own.
   *
   * @return prints as before, and tells what has begun
   */
  static Runnable take(LoggerContext context) {
    PrintStream out = System.out;
    PrintStream err = System.err;
    for (String name : DefaultLogging.APPENDERS.keySet()) {
      Appender<ILoggingEvent> appender =
          context.getLogger(DefaultLogging.APPENDERS.get(name)).getAppender(name);
      if (!(appender instanceof OutputStreamAppender<ILoggingEvent> writes)) {
        return () -> {};
      }
      writes.setOutputStream(unclosed(err)); // else it would print to us
    }
    PrintedLines fromOut = new PrintedLines(context.getLogger(OUT), Level.INFO, out);
    PrintedLines fromErr = new PrintedLines(context.getLogger(ERR), Level.WARN, err);
    System.setOut(new PrintStream(fromOut, true, StandardCharsets.UTF_8));
    System.setErr(new PrintStream(fromErr, true, StandardCharsets.UTF_8));
    return () -> {
      System.setOut(out);
      System.setErr(err);
      fromOut.tell();
      fromErr.tell();
    };
  }

  private static OutputStream unclosed(PrintStream stream) {
    return new OutputStream() {
      @Override
      public void write(int b) {
        stream.write(b);
      }

      @Override
      public void write(byte[] bytes, int offset, int length) {
        stream.write(bytes, offset, length);
      }

      @Override
      public void flush() {
        stream.flush();
      }
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
    List<Line> whole = new ArrayList<>(); // first all: to log one may print into these bytes
    if (by != Thread.currentThread()) {
      end(whole);
    }
    for (int i = offset; i < offset + length; i++) {
      boolean inCharacter = (bytes[i] & 0xC0) == 0x80;
      if (begun.size() >= MAX_BYTES && !inCharacter) {
        end(whole);
      }
      if (begun.size() == 0) {
        by = Thread.currentThread();
        of = LogFields.ofHere();
      }
      if (bytes[i] == '\n') {
        end(whole);
      } else {
        begun.write(bytes[i]);
      }
    }
    log(whole);
  }

  /** Logs what has begun, if anything has. */
  private synchronized void tell() {
    List<Line> last = new ArrayList<>();
    end(last);
    log(last);
  }

  private void end(List<Line> into) {
    String text = begun.toString(StandardCharsets.UTF_8).stripTrailing();
    begun.reset();
    by = null;
    if (!text.isEmpty()) {
      into.add(new Line(text, of));
    }
  }

  private void log(List<Line> lines) {
    logging = true;
    try {
      for (Line line : lines) {
        LoggingEventBuilder event = log.atLevel(level);
        line.of.forEach(event::addKeyValue);
        event.log(line.text);
      }
    } finally {
      logging = false;
    }
  }
}
