package dev.berth.ingress.access;

import dev.berth.metrics.MeterRegistration;
import dev.berth.metrics.Meters;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Access log of an instance. Loops hand over request records, and one thread formats and writes
 * them. A loop never waits: above the capacity, a line is dropped and counted. Thread-safe, except
 * {@link #run}, which is confined to the writer thread.
 */
public final class AccessLog implements Runnable {
  /** Default number of requests that may wait for the writer; about half a kilobyte each. */
  public static final int DEFAULT_CAPACITY = 8_192;

  private final int capacity;
  final LongSupplier epochMillis;
  private final Consumer<String> out;
  private final ConcurrentLinkedQueue<AccessEntry> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicInteger size = new AtomicInteger();
  final LongAdder dropped = new LongAdder();
  private final LongAdder written = new LongAdder();
  private volatile @Nullable Thread parked; // the writer while it is idle
  private volatile boolean closed;

  /**
   * @param capacity requests that may wait for the writer
   * @param epochMillis wall clock
   * @param out receives a line, without its line end
   */
  public AccessLog(int capacity, LongSupplier epochMillis, Consumer<String> out) {
    this.capacity = capacity;
    this.epochMillis = epochMillis;
    this.out = out;
  }

  /** Adds metrics of lines, drops and capacity. */
  public List<MeterRegistration> show(Meters meters) {
    return List.of(
        meters.addCounter("berth_access_log_lines", written::sum),
        meters.addCounter("berth_access_log_dropped", dropped::sum),
        meters.add(into -> into.gauge("berth_access_log_waiting", size.get(), capacity)));
  }

  /** Enqueues a finished request, or drops it above the capacity. */
  void offer(AccessEntry entry) {
    if (size.incrementAndGet() > capacity) {
      size.decrementAndGet();
      dropped.increment();
      return;
    }
    waiting.add(entry);
    Thread writer = parked;
    if (writer != null) {
      parked = null; // one wake-up is enough
      LockSupport.unpark(writer);
    }
  }

  /** Writes records until the log is closed and its queue is empty. */
  @Override
  public void run() {
    while (true) {
      AccessEntry next = waiting.poll();
      if (next != null) {
        write(next);
      } else if (closed) {
        return;
      } else {
        rest();
      }
    }
  }

  /**
   * Parks the writer. The thread is published before the last check of the queue, so that a
   * concurrent offer wakes it.
   */
  private void rest() {
    parked = Thread.currentThread();
    if (waiting.isEmpty() && !closed) {
      LockSupport.park(this);
    }
    parked = null;
  }

  private void write(AccessEntry entry) {
    size.decrementAndGet();
    try {
      out.accept(AccessText.line(entry));
      written.increment();
    } catch (Throwable broken) { // also an Error: without this thread, logging would stop
      dropped.increment();
    }
  }

  /** Closes the log. {@link #run} returns when the queue is empty. */
  public void close() {
    closed = true;
    LockSupport.unpark(parked);
  }
}
