package dev.berth.replica;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Timer queue of the ticks of an instance's replicas. Only due replicas are ticked, so that
 * thousands of idle ones cost next to nothing. One thread turns the wheel; {@link #touch} is
 * thread-safe.
 */
final class HealthCheckWheel {

  private record ScheduledTick(long atNanos, Replica replica) {}

  /** Order by time on the nano clock, which may overflow: the difference orders. */
  private static final Comparator<ScheduledTick> SOONEST =
      (one, other) -> Long.signum(one.atNanos - other.atNanos);

  private final Map<Replica, Long> planned = new HashMap<>(); // time of the next tick
  final PriorityQueue<ScheduledTick> looks = new PriorityQueue<>(SOONEST);
  private final Queue<Replica> touched = new ConcurrentLinkedQueue<>();
  volatile Runnable woken = () -> {};

  /** Schedules a tick of a replica at the next turn, whatever its planned time. Thread-safe. */
  void touch(Replica replica) {
    touched.add(replica);
    woken.run();
  }

  /**
   * Ticks the replicas that were touched or are due.
   *
   * @return nanoseconds until the next turn is needed
   */
  long turn(long nowNanos) {
    for (int left = touched.size(); left > 0; left--) { // without those touched meanwhile
      Replica replica = touched.poll();
      if (replica != null) {
        look(replica);
      }
    }
    for (ScheduledTick first = looks.peek();
        first != null && first.atNanos - nowNanos <= 0;
        first = looks.peek()) {
      looks.poll();
      if (planned.remove(first.replica, first.atNanos)) { // else the tick was rescheduled
        look(first.replica);
      }
    }
    ScheduledTick next = looks.peek();
    return !touched.isEmpty() ? 0 : next == null ? Long.MAX_VALUE : next.atNanos - nowNanos;
  }

  private void look(Replica replica) {
    Long next = replica.tick();
    Long before = next == null ? planned.remove(replica) : planned.put(replica, next);
    if (next != null && !next.equals(before)) {
      looks.add(new ScheduledTick(next, replica));
    }
  }
}
