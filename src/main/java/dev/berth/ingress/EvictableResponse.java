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
record EvictableResponse<A>(Object connection, A answer, long bytes, long sinceNanos) {

  /** Stalled responses of one connection. */
  private static final class StalledConnection<A> {
    final ArrayDeque<EvictableResponse<A>> answers = new ArrayDeque<>(); // oldest first
    long bytes;
  }

  private static <A> Collection<StalledConnection<A>> holders(
      List<EvictableResponse<A>> table, long now) {
    Map<Object, StalledConnection<A>> holders = new LinkedHashMap<>();
    List<EvictableResponse<A>> oldestFirst = new ArrayList<>(table);
    oldestFirst.sort((a, b) -> Long.signum(a.sinceNanos - b.sinceNanos));
    for (EvictableResponse<A> each : oldestFirst) {
      if (now - each.sinceNanos >= WriteStall.AFTER_NANOS) {
        StalledConnection<A> holder =
            holders.computeIfAbsent(each.connection, connection -> new StalledConnection<>());
        holder.answers.add(each);
        holder.bytes += each.bytes;
      }
    }
    return holders.values();
  }

  /** Returns the maximum bytes that one connection holds in stalled responses, or 0. */
  static <A> long most(List<EvictableResponse<A>> table, long now) {
    return holders(table, now).stream().mapToLong(holder -> holder.bytes).max().orElse(0);
  }

  /**
   * Returns the responses to evict, in order.
   *
   * @param needed bytes to release; the method returns as soon as the victims hold these
   * @param elsewhere maximum bytes of a connection on another loop; connections that hold less are
   *     spared
   */
  static <A> List<EvictableResponse<A>> victims(
      List<EvictableResponse<A>> table, long now, long needed, long elsewhere) {
    PriorityQueue<StalledConnection<A>> most =
        new PriorityQueue<>(Comparator.comparingLong(holder -> -holder.bytes));
    most.addAll(holders(table, now));
    List<EvictableResponse<A>> victims = new ArrayList<>();
    long left = needed;
    while (left > 0) {
      StalledConnection<A> holder = most.poll();
      if (holder == null || holder.bytes < elsewhere) {
        return victims;
      }
      EvictableResponse<A> victim = holder.answers.remove();
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
