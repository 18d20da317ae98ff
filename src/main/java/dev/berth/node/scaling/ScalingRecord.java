package dev.berth.node.scaling;

import dev.berth.metrics.MetricSeries;
import dev.berth.replica.hooks.DaemonThread;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * File of autoscaling reports and decisions, appended by its own thread, one JSON object per line.
 * Callers never wait: a line behind {@link #MAX_WAITING} others, or refused by the disk, is lost
 * and counted. Each file begins with the rules of every deployment, so that it is readable alone.
 */
final class ScalingRecord {
  private static final Logger LOG = LoggerFactory.getLogger(ScalingRecord.class);

  /** Maximum number of waiting lines; a line takes about a kilobyte for each ten deployments. */
  static final int MAX_WAITING = 1_024;

  private final Path file;
  private final long maxBytes;
  private final Promise<Void> ended = Promise.promise();
  private final LongAdder lost = new LongAdder();
  private final ThreadPoolExecutor writer;
  private final Map<String, JsonObject> heads = new ConcurrentHashMap<>();
  private final Set<String> unwritten = ConcurrentHashMap.newKeySet(); // keys of heads
  private volatile long lines;

  // confined to the writer thread
  private @Nullable OutputStream out;
  private long size;
  private boolean fails;

  /**
   * @param maxBytes size at which the file is renamed to end in {@code .1}, and a new one begins
   */
  ScalingRecord(Path file, long maxBytes) {
    this.file = file;
    this.maxBytes = maxBytes;
    this.writer =
        new ThreadPoolExecutor(
            1,
            1,
            0,
            TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(MAX_WAITING),
            task -> new DaemonThread(task, "berth-autoscaling-record"),
            (task, full) -> lost.increment()) {
          @Override
          protected void terminated() {
            close();
            ended.complete();
          }
        };
  }

  /** Returns the path of the file that precedes a file. */
  static Path before(Path file) {
    return file.resolveSibling(file.getFileName() + ".1");
  }

  /** Appends a line, which the writer thread creates. */
  void add(Supplier<JsonObject> line) {
    writer.execute(() -> write(line.get().encode() + "\n"));
  }

  /**
   * Appends a line that holds from now on, and repeats it at the start of each file. The line is
   * never lost: with a full queue, it is written with the next line.
   *
   * @param key subject of the line; a later line replaces an earlier one
   * @param line null to remove the line of the key
   */
  void head(String key, @Nullable JsonObject line) {
    if (line == null) {
      heads.remove(key);
    } else {
      heads.put(key, line);
      unwritten.add(key);
      writer.execute(() -> write(""));
    }
  }

  void show(MetricSeries into) {
    into.counter("berth_autoscaling_record_lines", lines);
    into.counter("berth_autoscaling_record_lost", lost.sum());
    into.gauge("berth_autoscaling_record_waiting", writer.getQueue().size(), MAX_WAITING);
  }

  /** Writes the waiting lines, then ends the thread. */
  Future<Void> stop() {
    writer.shutdown();
    return ended.future();
  }

  private void write(String line) {
    try {
      if (out != null && size + line.length() > maxBytes) {
        close();
        Files.move(file, before(file), StandardCopyOption.REPLACE_EXISTING);
      }
      OutputStream to = out == null ? open() : out;
      StringBuilder text = new StringBuilder();
      for (String key : unwritten) {
        unwritten.remove(key);
        JsonObject head = heads.get(key);
        text.append(head == null ? "" : head.encode() + "\n");
      }
      byte[] bytes = text.append(line).toString().getBytes(StandardCharsets.UTF_8);
      to.write(bytes);
      size += bytes.length;
      lines++;
      if (fails) {
        LOG.info("{}: writable again", file);
      }
      fails = false;
    } catch (IOException failed) {
      lost.increment();
      close();
      if (!fails) {
        LOG.warn("{}: not writable: autoscaling is not recorded: {}", file, failed.toString());
      }
      fails = true;
    }
  }

  private OutputStream open() throws IOException {
    OutputStream to =
        Files.newOutputStream(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    out = to;
    unwritten.addAll(heads.keySet());
    size = Files.size(file);
    if (size > 0) {
      to.write('\n'); // separates a line that a full disk truncated
    }
    return to;
  }

  private void close() {
    OutputStream last = out;
    out = null;
    try {
      if (last != null) {
        last.close();
      }
    } catch (IOException failed) {
      LOG.debug("{}: {}", file, failed.toString());
    }
  }
}
