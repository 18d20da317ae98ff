package dev.berth.ingress;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/**
 * A response with bytes that wait for its client, as a candidate for eviction. The victim is the
 * response stalled for longest, on the connection that holds most in stalled responses. Addresses
 * have no share, since all clients behind a load balancer have the same one.
 *
 * @param <A> type of the evicted response
 * @param bytes memory of the response
 * @param sinceNanos time of the client's last sufficient progress
 */
record Stalled<A>(Object connection, A answer, long bytes, long sinceNanos) {

  /** Stalled responses of one connection. */
  private static final class Holder<A> {
    final ArrayDeque<Stalled<A>> answers = new ArrayDeque<>(); // oldest first
    long bytes;
  }

  private static <A> Collection<Holder<A>> holders(List<Stalled<A>> table, long now) {
    Map<Object, Holder<A>> holders = new LinkedHashMap<>();
    List<Stalled<A>> oldestFirst = new ArrayList<>(table);
    oldestFirst.sort((a, b) -> Long.signum(a.sinceNanos - b.sinceNanos));
    for (Stalled<A> each : oldestFirst) {
      if (now - each.sinceNanos >= Stall.AFTER_NANOS) {
        Holder<A> holder = holders.computeIfAbsent(each.connection, connection -> new Holder<>());
        holder.answers.add(each);
        holder.bytes += each.bytes;
      }
    }
    return holders.values();
  }

  /** Returns the maximum bytes that one connection holds in stalled responses, or 0. */
  static <A> long most(List<Stalled<A>> table, long now) {
    return holders(table, now).stream().mapToLong(holder -> holder.bytes).max().orElse(0);
  }

  /**
   * Returns the responses to evict, in order.
   *
   * @param needed bytes to release; the method returns as soon as the victims hold these
   * @param elsewhere maximum bytes of a connection on another loop; connections that hold less are
   *     spared
   */
  static <A> List<Stalled<A>> victims(
      List<Stalled<A>> table, long now, long needed, long elsewhere) {
    PriorityQueue<Holder<A>> most =
        new PriorityQueue<>(Comparator.comparingLong(holder -> -holder.bytes));
    most.addAll(holders(table, now));
    List<Stalled<A>> victims = new ArrayList<>();
    long left = needed;
    while (left > 0) {
      Holder<A> holder = most.poll();
      if (holder == null || holder.bytes < elsewhere) {
        return victims;
      }
      Stalled<A> victim = holder.answers.remove();
      victims.add(victim);
      left -= victim.bytes;
      holder.bytes -= victim.bytes;
      if (!holder.answers.isEmpty()) {
        most.add(holder);
      }
    }
    return victims;
  }
}
