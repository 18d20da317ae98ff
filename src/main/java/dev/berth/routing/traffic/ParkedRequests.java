package dev.berth.routing.traffic;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Predicate;

/**
 * Requests of a route that leads nowhere yet, in the order in which they came, on one event loop.
 * They leave together, in that order, when it leads somewhere; each by itself when its time is over
 * or its client is gone.
 *
 * @param <T> a request; compared by identity
 */
public final class ParkedRequests<T> {

  private record Parked<T>(T request, long untilNanos) {}

  private final ArrayDeque<Parked<T>> parked = new ArrayDeque<>();

  /**
   * @param untilNanos of the clock by which {@link #overdue} is asked
   */
  public void add(T request, long untilNanos) {
    parked.addLast(new Parked<>(request, untilNanos));
  }

  /**
   * Takes those whose time is over, and those that wait no more, in their order.
   *
   * @param left whether a request waits no more
   */
  public List<T> overdue(long nowNanos, Predicate<T> left) {
    List<T> over = new ArrayList<>();
    for (Iterator<Parked<T>> each = parked.iterator(); each.hasNext(); ) {
      Parked<T> one = each.next();
      if (nowNanos - one.untilNanos >= 0 || left.test(one.request)) {
        each.remove();
        over.add(one.request);
      }
    }
    return over;
  }

  /** Takes all, in their order. */
  public List<T> takeAll() {
    List<T> all = parked.stream().map(Parked::request).toList();
    parked.clear();
    return all;
  }

  public int size() {
    return parked.size();
  }
}
