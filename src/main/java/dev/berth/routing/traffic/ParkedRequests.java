package dev.berth.routing.traffic;

import dev.berth.routing.slots.InstanceBounds;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * Requests of routes that lead nowhere yet, in the order in which they came, on one event loop; of
 * an instance's no more than may wait for slots. They leave together, in that order, when their
 * route leads somewhere; each by itself when its time is over or its client is gone.
 *
 * @param <T> a request; compared by identity
 */
public final class ParkedRequests<T> {

  private record Parked<T>(T request, long untilNanos) {}

  private final InstanceBounds bounds;
  private final ArrayDeque<Parked<T>> parked = new ArrayDeque<>();
  private volatile int size; // for other threads

  public ParkedRequests(InstanceBounds bounds) {
    this.bounds = bounds;
  }

  /**
   * Parks it, unless as many wait as may.
   *
   * @param untilNanos of the clock by which {@link #overdue} is asked
   */
  public boolean tryAdd(T request, long untilNanos) {
    if (!bounds.tryQueue(0)) {
      return false;
    }
    parked.addLast(new Parked<>(request, untilNanos));
    size = parked.size();
    return true;
  }

  /** Takes those whose time is over, in their order. */
  public List<T> overdue(long nowNanos) {
    return take(each -> nowNanos - each.untilNanos >= 0);
  }

  /** Takes those of which this is so, in their order. */
  public List<T> takeIf(Predicate<T> goes) {
    return take(each -> goes.test(each.request));
  }

  private List<T> take(Predicate<Parked<T>> goes) {
    List<T> taken = new ArrayList<>();
    parked.removeIf(each -> goes.test(each) && taken.add(each.request));
    taken.forEach(each -> bounds.unqueue(0));
    size = parked.size();
    return taken;
  }

  /** Any thread. */
  public int size() {
    return size;
  }
}
