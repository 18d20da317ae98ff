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
 * An answer of which something waits for its client, and who is cut for the room of others: of the
 * connection that holds most by such answers, the one that has stood still for longest. There is no
 * share for an address, since behind a balancer all clients have one.
 *
 * @param <A> what is cut
 * @param bytes what it holds
 * @param sinceNanos when its client last took something worth it
 */
record Stalled<A>(Object connection, A answer, long bytes, long sinceNanos) {

  /** What one connection holds. */
  private static final class Holder<A> {
    final ArrayDeque<Stalled<A>> answers = new ArrayDeque<>(); // the oldest first
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

  /** The bytes of the connection that holds most by answers that stand still; or 0. */
  static <A> long most(List<Stalled<A>> table, long now) {
    return holders(table, now).stream().mapToLong(holder -> holder.bytes).max().orElse(0);
  }

  /**
   * Who is cut, in order.
   *
   * @param needed bytes; as many are cut as give them back
   * @param elsewhere what the connection holds that holds most on any other loop: who holds less
   *     here is spared
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
