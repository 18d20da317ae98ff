package dev.berth.routing.traffic;

import dev.berth.routing.slots.InstanceQueueLimits;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/**
 * Requests of one event loop whose routes have no deployment yet, in order of arrival. Their number
 * counts against the instance's limit of waiting requests. They leave together, in that order, once
 * their route has a deployment; each leaves alone at its deadline, or when its client disconnects.
 *
 * @param <T> type of a request; compared by identity
 */
public final class ParkedRequests<T> {

  private record ParkedRequest<T>(T request, long untilNanos) {}

  private final InstanceQueueLimits bounds;
  private final ArrayDeque<ParkedRequest<T>> parked = new ArrayDeque<>();
  private volatile int size; // read by other threads

  public ParkedRequests(InstanceQueueLimits bounds) {
    this.bounds = bounds;
  }

  /**
   * Parks a request. Returns false if the limit of waiting requests is reached.
   *
   * @param untilNanos deadline on the clock of {@link #overdue}
   */
  public boolean tryAdd(T request, long untilNanos) {
    if (!bounds.tryQueue(0)) {
      return false;
    }
    parked.addLast(new ParkedRequest<>(request, untilNanos));
    size = parked.size();
    return true;
  }

  /** Removes and returns the requests whose deadline has passed, in order. */
  public List<T> overdue(long nowNanos) {
    return take(each -> nowNanos - each.untilNanos >= 0);
  }

  /** Removes and returns the matching requests, in order. */
  public List<T> takeIf(Predicate<T> goes) {
    return take(each -> goes.test(each.request));
  }

  private List<T> take(Predicate<ParkedRequest<T>> goes) {
    List<T> taken = new ArrayList<>();
    parked.removeIf(each -> goes.test(each) && taken.add(each.request));
    taken.forEach(each -> bounds.unqueue(0));
    size = parked.size();
    return taken;
  }

  /** Returns the number of parked requests. Thread-safe. */
  public int size() {
    return size;
  }
}
