package dev.berth.stream;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * The bytes that the answers of an instance hold together: what their streams were granted and
 * clients have not taken, whole answers that are not taken, and what writers hold for want of a
 * grant.
 *
 * <p>No answer is refused for room. A grant that finds none waits, first in first out, until what
 * others hold is taken or cut. So the sum may be above the bound, by what cannot wait: first
 * credits (at most the bound once more), whole answers of up to one message, {@link #LEAST_BYTES}
 * for each stream whose grant waits while its reader has taken all, and what writers hold. As long
 * as it is, {@link #needed} says so.
 *
 * <p>Any thread. What is granted without waiting costs one atomic addition.
 */
public final class StreamLedger {
  /** What a stream may send before its reader has taken anything. */
  public static final int FIRST_BYTES = 16 << 10;

  /** What a stream may always have under way, so that one whose reader reads never stands still. */
  public static final int LEAST_BYTES = 1 << 10;

  private final Bound held;
  private final AtomicLong atWriters = new AtomicLong();
  private final AtomicLong wanted = new AtomicLong(); // of the grants that wait; changed under this
  private final Set<StreamWindow> queue = new LinkedHashSet<>(); // under this
  private final LongAdder waits = new LongAdder();

  /**
   * @param boundBytes of all answers; {@code berth.limits.stream_bytes_total}
   */
  public StreamLedger(long boundBytes) {
    this.held = new Bound(boundBytes);
  }

  /** Counts bytes that are there already, or were promised. */
  public void hold(long bytes) {
    held.take(bytes);
  }

  /** Counts bytes if there is room and no grant waits for it. */
  public boolean tryHold(long bytes) {
    return wanted.get() == 0 && held.tryTake(bytes);
  }

  /**
   * Counts a whole answer that is larger than one message, if it may leave at once all the same:
   * the last quarter of the room is for grants.
   */
  public boolean tryCarry(int bytes) {
    return wanted.get() == 0 && held.tryTake(bytes, tightBytes() - atWriters.get());
  }

  /** Taken, cut, or never to be used. */
  public void release(long bytes) {
    held.give(bytes);
    if (wanted.get() > 0) {
      grantWaiting();
    }
  }

  /** So much more, or less, is held by writers for want of a grant. */
  public void atWriters(long bytes) {
    atWriters.addAndGet(bytes);
  }

  /** Its next grant waits from now on. */
  void await(StreamWindow window) {
    waits.increment();
    synchronized (this) {
      queue.add(window);
      wanted.addAndGet(window.wanted());
    }
    grantWaiting(); // what was released in between found nobody waiting
  }

  /** False when its grant is on its way. */
  boolean cancel(StreamWindow window) {
    synchronized (this) {
      if (!queue.remove(window)) {
        return false;
      }
      wanted.addAndGet(-window.wanted());
    }
    grantWaiting(); // it may have been the first, and too large
    return true;
  }

  private void grantWaiting() {
    List<StreamWindow> granted = new ArrayList<>();
    synchronized (this) {
      Iterator<StreamWindow> each = queue.iterator();
      while (each.hasNext()) {
        StreamWindow first = each.next();
        if (!held.tryTake(first.wanted())) {
          break;
        }
        each.remove();
        wanted.addAndGet(-first.wanted());
        granted.add(first);
      }
    }
    granted.forEach(StreamWindow::granted);
  }

  /** Whether a stream that begins may send before it is asked. */
  public boolean hasRoom() {
    return bytes() < held.most();
  }

  /** Whether windows are to shrink: three quarters of the bound are held. */
  public boolean isTight() {
    return bytes() > tightBytes();
  }

  private long tightBytes() {
    return held.most() / 4 * 3;
  }

  /** Bytes that must be given back, by readers that stand still, for nothing to wait; or 0. */
  public long needed() {
    return Math.max(0, bytes() - held.most()) + wanted.get();
  }

  /** The sum now. */
  public long bytes() {
    return held.taken() + atWriters.get();
  }

  /** The bound on {@link #bytes}, but for what cannot wait. */
  public long boundBytes() {
    return held.most();
  }

  /** Streams whose next grant waits now. */
  public synchronized int waiting() {
    return queue.size();
  }

  /** How often a grant had to wait. */
  public long waits() {
    return waits.sum();
  }
}
