package dev.berth.routing.slots;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Who may collect several slots of one deployment on this instance: one at a time, first come first
 * served. Two that each held one of two slots and waited for the other would wait for ever.
 *
 * <pre>
 *   OUTSIDE --enter--> WAITING --its turn--> HOLDING --leave--> OUTSIDE
 *                      any --leave--> OUTSIDE
 *                      HOLDING --its loop blocks--> OUTSIDE, and is told
 * </pre>
 *
 * Any thread. A lock, as requests for several slots of one deployment are rare and what is done
 * under it is a few steps; whoever's turn it is learns of it by a task on its own loop.
 */
public final class LegGate {

  /** One that collects. */
  public interface Collector {
    /** Whether its loop takes no tasks now. */
    boolean paused();

    /** It is its turn: to be told on its loop. Must not call the gate. */
    void entered();

    /** It has lost the gate while its loop was blocked: to be told on its loop. As above. */
    void ousted();
  }

  /** What asking to enter came to. */
  public enum Entry {
    HOLDING,
    WAITING,
    REFUSED
  }

  private final InstanceBounds bounds;
  private final Set<Collector> waiting = new LinkedHashSet<>(); // in order
  private @Nullable Collector holder;

  public LegGate(InstanceBounds bounds) {
    this.bounds = bounds;
  }

  /**
   * Asks to enter.
   *
   * @param maxWaiting places to wait in, beside the instance's bound; -1 for no bound of its own
   */
  public synchronized Entry enter(Collector collector, boolean mayWait, int maxWaiting) {
    Collector holding = holder;
    if (holding != null && holding.paused()) {
      oust(holding);
      next();
    }
    if (holder == null && waiting.stream().allMatch(Collector::paused)) {
      holder = collector;
      return Entry.HOLDING;
    }
    if (!mayWait || (maxWaiting >= 0 && waiting.size() >= maxWaiting) || !bounds.tryQueue(0)) {
      return Entry.REFUSED;
    }
    waiting.add(collector);
    return Entry.WAITING;
  }

  /** Gives the gate back, or the place before it; nothing when it has neither. */
  public synchronized void leave(Collector collector) {
    if (holder == collector) {
      holder = null;
      next();
    } else if (waiting.remove(collector)) {
      bounds.unqueue(0);
    }
  }

  /** Loops block or run again: a holder on a blocked one loses the gate. */
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
      // Its loop takes no more tasks: the instance stops.
    }
  }

  /** Those on blocked loops are passed over, and keep their places. */
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
        // As above.
      }
    }
  }

  /** How many wait. */
  public synchronized int size() {
    return waiting.size();
  }

  /** Whether it is this one's turn. */
  public synchronized boolean isHeldBy(Collector collector) {
    return holder == collector;
  }
}
