package dev.berth.replica;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * When to look at which replica of an instance: at those whose time has come, and at no others, so
 * that thousands of idle ones cost next to nothing. Turned by one thread; any thread may touch.
 */
final class LookWheel {

  private record Look(long atNanos, Replica replica) {}

  /** On the nano clock, which may overflow: the difference orders. */
  private static final Comparator<Look> SOONEST =
      (one, other) -> Long.signum(one.atNanos - other.atNanos);

  private final Map<Replica, Long> planned = new HashMap<>(); // its next look
  private final PriorityQueue<Look> looks = new PriorityQueue<>(SOONEST);
  private final Queue<Replica> touched = new ConcurrentLinkedQueue<>();

  /** A replica is to be looked at with the next turn, whatever was planned. Any thread. */
  void touch(Replica replica) {
    touched.add(replica);
  }

  /** Looks at whatever was touched, and at what is due. */
  void turn(long nowNanos) {
    for (int left = touched.size(); left > 0; left--) { // not at what is touched meanwhile
      Replica replica = touched.poll();
      if (replica != null) {
        look(replica);
      }
    }
    for (Look first = looks.peek();
        first != null && first.atNanos - nowNanos <= 0;
        first = looks.peek()) {
      looks.poll();
      if (planned.remove(first.replica, first.atNanos)) { // else another look was planned since
        look(first.replica);
      }
    }
  }

  private void look(Replica replica) {
    Long next = replica.tick();
    Long before = next == null ? planned.remove(replica) : planned.put(replica, next);
    if (next != null && !next.equals(before)) {
      looks.add(new Look(next, replica));
    }
  }

  /** Looks that are planned, those that were replaced included. */
  int size() {
    return looks.size();
  }
}
