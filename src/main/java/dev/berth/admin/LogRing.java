package dev.berth.admin;

import dev.berth.metrics.Meters;
import dev.berth.view.LogLine;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Thread-safe ring buffer of the last log lines, limited in lines and in memory. At a limit the
 * oldest line of the application with the most lines, or the most bytes, is removed. An application
 * that floods the log thus leaves the lines of others in place.
 *
 * <p>Lines are numbered from 1 in the order of arrival, so a returning reader sees the number of
 * lines it missed. The lock is held for one line, or while the list of lines is copied.
 */
public final class LogRing {
  /** Maximum of characters of a message or a stack trace; longer ones are truncated. */
  static final int MAX_TEXT_CHARS = 16 << 10;

  private static final int MAX_FIELD_CHARS = 1 << 10;
  private static final int MAX_FIELDS = 32;

  /** Approximate memory of a line's objects in bytes, without its characters. */
  private static final int LINE_BYTES = 256;

  /** A line with its number. */
  record NumberedLogLine(long number, LogLine line, int bytes) {}

  /** Lines of one application, the oldest first. */
  private static final class ApplicationLogLines extends ArrayDeque<NumberedLogLine> {
    private static final long serialVersionUID = 1;
    private long bytes;

    @Override
    public boolean add(NumberedLogLine line) {
      bytes += line.bytes;
      return super.add(line);
    }
  }

  /**
   * Result of a read.
   *
   * @param lines the lines in order
   * @param next number of the last examined line, from which the next read continues
   * @param lost number of lines after the requested number that were removed
   */
  record LogPage(List<NumberedLogLine> lines, long next, long lost) {}

  private final int maxLines;
  private final long maxBytes;
  final Instant began;
  private final ReentrantLock lock = new ReentrantLock();
  private final Map<String, ApplicationLogLines> kept =
      new HashMap<>(); // by application; none is empty
  private long added;

  // Written under the lock, read by metrics without it.
  private volatile int lines; // lines in the ring
  private volatile long bytes; // memory of these lines
  private volatile long dropped;

  /**
   * @param maxLines maximum of lines; 0 stores none
   * @param maxBytes maximum of their memory in bytes
   * @param began creation time of this ring; line numbers are valid in this ring only
   */
  public LogRing(int maxLines, long maxBytes, Instant began) {
    this.maxLines = maxLines;
    this.maxBytes = maxBytes;
    this.began = began;
  }

  /** Adds a line, and removes others beyond the limits. */
  public void add(LogLine line) {
    if (maxLines == 0) {
      return;
    }
    LogLine cut = truncate(line);
    int size = bytes(cut);
    lock.lock();
    try {
      String application = cut.fields().getOrDefault("application", "");
      kept.computeIfAbsent(application, each -> new ApplicationLogLines())
          .add(new NumberedLogLine(++added, cut, size));
      lines++;
      bytes += size;
      while (lines > maxLines) {
        removeOne(Comparator.comparingInt(ArrayDeque::size));
      }
      while (bytes > maxBytes && lines > 1) {
        removeOne(Comparator.comparingLong(most -> most.bytes));
      }
    } finally {
      lock.unlock();
    }
  }

  private void removeOne(Comparator<ApplicationLogLines> mostOf) {
    ApplicationLogLines most = Collections.max(kept.values(), mostOf);
    int size = most.removeFirst().bytes();
    most.bytes -= size;
    bytes -= size;
    lines--;
    dropped++;
    if (most.isEmpty()) {
      kept.values().remove(most);
    }
  }

  /** Returns the last {@code most} lines that pass the filter. */
  LogPage last(int most, Predicate<LogLine> wanted) {
    List<NumberedLogLine> all = new ArrayList<>();
    long newest = copy(all);
    List<NumberedLogLine> found = all.stream().filter(each -> wanted.test(each.line)).toList();
    return new LogPage(found.subList(Math.max(0, found.size() - most), found.size()), newest, 0);
  }

  /** Returns the first {@code most} lines after {@code number} that pass the filter. */
  LogPage after(long number, int most, Predicate<LogLine> wanted) {
    List<NumberedLogLine> all = new ArrayList<>();
    long newest = copy(all);
    List<NumberedLogLine> found =
        all.stream()
            .filter(each -> each.number > number && wanted.test(each.line))
            .limit(most)
            .toList();
    long next = found.size() == most ? found.get(most - 1).number : Math.max(number, newest);
    long there = all.stream().filter(each -> each.number > number && each.number <= next).count();
    return new LogPage(found, next, next - number - there);
  }

  private long copy(List<NumberedLogLine> into) {
    lock.lock();
    try {
      kept.values().forEach(into::addAll);
      into.sort(Comparator.comparingLong(NumberedLogLine::number));
      return added;
    } finally {
      lock.unlock();
    }
  }

  /** Registers the metrics. */
  public void show(Meters meters) {
    meters.add(into -> into.gauge("berth_log_lines", lines, maxLines));
    meters.add(into -> into.gauge("berth_log_bytes", bytes, maxBytes));
    meters.addCounter("berth_log_lines_dropped", () -> dropped);
  }

  private static int bytes(LogLine line) {
    int chars = line.logger().length() + line.thread().length() + line.message().length();
    for (Map.Entry<String, String> field : line.fields().entrySet()) {
      chars += field.getKey().length() + field.getValue().length() + LINE_BYTES / 4;
    }
    String exception = line.exception();
    return LINE_BYTES + 2 * (chars + (exception == null ? 0 : exception.length()));
  }

  private static LogLine truncate(LogLine line) {
    Map<String, String> fields = new LinkedHashMap<>();
    line.fields()
        .forEach(
            (key, value) -> {
              if (fields.size() < MAX_FIELDS) {
                fields.put(truncate(key, MAX_FIELD_CHARS), truncate(value, MAX_FIELD_CHARS));
              }
            });
    @Nullable String exception = line.exception();
    return new LogLine(
        line.atMs(),
        line.level(),
        truncate(line.logger(), MAX_FIELD_CHARS),
        truncate(line.thread(), MAX_FIELD_CHARS),
        truncate(line.message(), MAX_TEXT_CHARS),
        fields,
        exception == null ? null : truncate(exception, MAX_TEXT_CHARS));
  }

  private static String truncate(String text, int most) {
    return text.length() <= most ? text : text.substring(0, most) + "...";
  }
}
