package dev.berth.ingress.access;

import dev.berth.metrics.Meters;
import dev.berth.metrics.Registration;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The access log of an instance: loops hand over what they know of a request, one thread makes
 * lines of it and writes them. A loop never waits: when the writer is too slow and so many wait
 * already, the line is dropped and counted. {@link #run} belongs to that thread, the rest to any.
 */
public final class AccessLog implements Runnable {
  /** Requests that may wait to be written; about half a kilobyte each. */
  public static final int DEFAULT_CAPACITY = 8_192;

  private final int capacity;
  private final LongSupplier epochMillis;
  private final Consumer<String> out;
  private final ConcurrentLinkedQueue<AccessEntry> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicInteger size = new AtomicInteger();
  private final LongAdder dropped = new LongAdder();
  private final LongAdder written = new LongAdder();
  private volatile @Nullable Thread parked; // the writer, when it has nothing to do
  private volatile boolean closed;

  /**
   * @param capacity requests that may wait to be written
   * @param epochMillis the time of day
   * @param out takes a line, without its end
   */
  public AccessLog(int capacity, LongSupplier epochMillis, Consumer<String> out) {
    this.capacity = capacity;
    this.epochMillis = epochMillis;
    this.out = out;
  }

  /** Shows its lines and its bound. */
  public List<Registration> show(Meters meters) {
    return List.of(
        meters.addCounter("berth_access_log_lines", written::sum),
        meters.addCounter("berth_access_log_dropped", dropped::sum),
        meters.addGauge("berth_access_log_waiting", size::get),
        meters.addGauge("berth_access_log_waiting_limit", () -> capacity));
  }

  long nowMillis() {
    return epochMillis.getAsLong();
  }

  /** Takes a request that is over, or drops it. */
  void offer(AccessEntry entry) {
    if (size.incrementAndGet() > capacity) {
      size.decrementAndGet();
      dropped.increment();
      return;
    }
    waiting.add(entry);
    Thread writer = parked;
    if (writer != null) {
      parked = null; // one waking is enough
      LockSupport.unpark(writer);
    }
  }

  /** Lines dropped since start. */
  long dropped() {
    return dropped.sum();
  }

  /** Writes until it is closed and nothing is left. */
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

  /** Says that it rests before it looks again, so that who comes in between wakes it. */
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
    } catch (Throwable broken) { // an Error too: without this thread no line would be written
      dropped.increment();
    }
  }

  /** Ends {@link #run} when what waits is written. */
  public void close() {
    closed = true;
    LockSupport.unpark(parked);
  }
}
