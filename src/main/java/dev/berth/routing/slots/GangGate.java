package dev.berth.routing.slots;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Admits the requests for several slots of one deployment on this instance one at a time, in the
 * order of arrival. Such a request is a collector, and each of its slots is a leg. Without the
 * gate, two collectors that each hold one of two slots would wait for each other without end.
 *
 * <pre>
 *   OUTSIDE --enter--> WAITING --first in the order--> HOLDING --leave--> OUTSIDE
 *                      any --leave--> OUTSIDE
 *                      HOLDING --its loop blocks, and another can enter--> OUTSIDE, notified
 * </pre>
 *
 * Thread-safe. A lock suffices, because requests for several slots of one deployment are rare and
 * each step under the lock is short. The gate notifies a collector by a task on the collector's
 * loop.
 */
public final class GangGate {

  /** A request that collects several slots. */
  public interface Collector {
    /** Returns whether the collector's loop runs no tasks now. */
    boolean paused();

    /**
     * Notifies, by a task on the collector's loop, that it holds the gate. Must not call the gate.
     */
    void entered();

    /**
     * Notifies, by a task on the collector's loop, that it lost the gate while that loop was
     * blocked. Must not call the gate.
     */
    void ousted();
  }

  /** Result of {@link #enter}. */
  public enum GateEntryResult {
    HOLDING,
    WAITING,
    REFUSED
  }

  private final InstanceQueueLimits bounds;
  private final Set<Collector> waiting = new LinkedHashSet<>(); // in order of arrival
  private @Nullable Collector holder;

  public GangGate(InstanceQueueLimits bounds) {
    this.bounds = bounds;
  }

  /**
   * Enters the gate, or waits for it.
   *
   * @param maxWaiting maximum collectors that wait here, or -1 if only the instance's limit applies
   */
  public synchronized GateEntryResult enter(Collector collector, boolean mayWait, int maxWaiting) {
    Collector holding = holder;
    if (holding != null && holding.paused()) {
      oust(holding);
      next();
    }
    if (holder == null && waiting.stream().allMatch(Collector::paused)) {
      holder = collector;
      return GateEntryResult.HOLDING;
    }
    if (!mayWait || (maxWaiting >= 0 && waiting.size() >= maxWaiting) || !bounds.tryQueue(0)) {
      return GateEntryResult.REFUSED;
    }
    waiting.add(collector);
    return GateEntryResult.WAITING;
  }

  /** Leaves the gate or its queue; no effect if the collector is outside. */
  public synchronized void leave(Collector collector) {
    if (holder == collector) {
      holder = null;
      next();
    } else if (waiting.remove(collector)) {
      bounds.unqueue(0);
    }
  }

  /** Replaces a holder on a blocked loop if another can enter. Call when a loop changes state. */
  public synchronized void loopsChanged() {
    Collector holding = holder;
    if (holding != null && holding.paused() && !waiting.stream().allMatch(Collector::paused)) {
      oust(holding);
    }
    if (holder == null) {
      next();
    }
  }

  private void oust(Collector holding) {
    holder = null;
    try {
      holding.ousted();
    } catch (RuntimeException rejected) {
      // The loop accepts no further tasks: the instance stops.
    }
  }

  /** Admits the first collector whose loop is not blocked. Skipped collectors keep their places. */
  private void next() {
    Iterator<Collector> places = waiting.iterator();
    while (holder == null && places.hasNext()) {
      Collector first = places.next();
      if (first.paused()) {
        continue;
      }
      places.remove();
      bounds.unqueue(0);
      try {
        first.entered();
        holder = first;
      } catch (RuntimeException rejected) {
        // The loop accepts no further tasks: the instance stops.
      }
    }
  }

  /** Returns the number of waiting collectors. */
  public synchronized int size() {
    return waiting.size();
  }

  /** Returns whether a collector holds the gate. */
  public synchronized boolean isHeldBy(Collector collector) {
    return holder == collector;
  }
}
