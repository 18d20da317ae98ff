package dev.berth.stream;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Thread-safe memory budget of an instance's streamed responses. Counts the bytes granted to
 * streams until clients take them, whole responses until clients take them, and bytes held by
 * writers that wait for a grant.
 *
 * <p><b>Overcommit.</b> No response is refused for lack of memory. A grant above the limit waits in
 * a FIFO queue until clients take other bytes or responses are evicted. The sum may exceed the
 * limit by bytes that cannot wait:
 *
 * <ul>
 *   <li>first credits, at most the limit once more;
 *   <li>whole responses of up to one message;
 *   <li>{@link #MIN_WINDOW_BYTES} for each stream whose grant waits while its reader has taken all;
 *   <li>bytes held by writers.
 * </ul>
 *
 * {@link #needed} reports the excess and the waiting grants.
 *
 * <p><b>Concurrency.</b> A grant that need not wait costs one atomic addition.
 */
public final class StreamMemoryBudget {
  /** First credit of a stream, in bytes, before its reader has taken any. */
  public static final int FIRST_BYTES = 16 << 10;

  /**
   * Minimum of bytes in flight of a stream, so that a stream with an active reader never stalls.
   */
  public static final int MIN_WINDOW_BYTES = 1 << 10;

  private final CountingLimit held;
  private final AtomicLong atWriters = new AtomicLong();
  // bytes of the waiting grants; written under this
  private final AtomicLong wanted = new AtomicLong();
  private final Set<StreamWindow> queue = new LinkedHashSet<>(); // guarded by this

  /** Grants that had to wait. */
  public final LongAdder waits = new LongAdder();

  /**
   * @param boundBytes limit of all responses; {@code berth.limits.stream_bytes_total}
   */
  public StreamMemoryBudget(long boundBytes) {
    this.held = new CountingLimit(boundBytes);
  }

  /** Counts bytes that exist already, or were promised. */
  public void hold(long bytes) {
    held.take(bytes);
  }

  /** Counts bytes if they are within the limit and no grant waits. */
  public boolean tryHold(long bytes) {
    return wanted.get() == 0 && held.tryTake(bytes);
  }

  /**
   * Counts a whole response that is larger than one message, if it may be sent at once. The last
   * quarter of the budget is reserved for grants.
   */
  public boolean tryCarry(int bytes) {
    return wanted.get() == 0 && held.tryTake(bytes, tightBytes() - atWriters.get());
  }

  /**
   * Releases bytes after the reader took them, or when they are discarded or will never be used.
   */
  public void release(long bytes) {
    held.give(bytes);
    if (wanted.get() > 0) {
      grantWaiting();
    }
  }

  /** Adds to the bytes held by writers that wait for a grant; negative to subtract. */
  public void atWriters(long bytes) {
    atWriters.addAndGet(bytes);
  }

  /** Enqueues the next grant of a window. */
  void await(StreamWindow window) {
    waits.increment();
    synchronized (this) {
      queue.add(window);
      wanted.addAndGet(window.wantedBytes());
    }
    grantWaiting(); // a release in between found no waiter
  }

  /** Removes a window from the queue. Returns false when its grant was already made. */
  boolean cancel(StreamWindow window) {
    synchronized (this) {
      if (!queue.remove(window)) {
        return false;
      }
      wanted.addAndGet(-window.wantedBytes());
    }
    grantWaiting(); // it may have been the head, and too large
    return true;
  }

  private void grantWaiting() {
    List<StreamWindow> granted = new ArrayList<>();
    synchronized (this) {
      Iterator<StreamWindow> each = queue.iterator();
      while (each.hasNext()) {
        StreamWindow first = each.next();
        if (!held.tryTake(first.wantedBytes())) {
          break;
        }
        each.remove();
        wanted.addAndGet(-first.wantedBytes());
        granted.add(first);
      }
    }
    granted.forEach(StreamWindow::onGranted);
  }

  /** Returns whether a request may grant a first credit to the stream of its response. */
  public boolean hasRoom() {
    return bytes() < held.most;
  }

  /**
   * Returns whether windows must shrink because more than three quarters of the limit are in use.
   */
  public boolean isTight() {
    return bytes() > tightBytes();
  }

  private long tightBytes() {
    return held.most / 4 * 3;
  }

  /** Returns the bytes that stalled readers must release so that no grant waits; 0 for none. */
  public long needed() {
    return Math.max(0, bytes() - held.most) + wanted.get();
  }

  /** Returns the bytes in use. */
  public long bytes() {
    return held.inUse() + atWriters.get();
  }

  /** Returns the limit of {@link #bytes}, which bytes that cannot wait may exceed. */
  public long boundBytes() {
    return held.most;
  }

  /** Returns the number of streams whose next grant waits. */
  public synchronized int waiting() {
    return queue.size();
  }
}
