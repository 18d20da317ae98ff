package dev.berth.routing.slots;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.port.BatchSeats;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Acquires slots for new requests, waiting requests, reservations, and the legs of requests for
 * several slots. No other class acquires slots. A pick chooses a replica and acquires one of its
 * slots in one step. A pick sends no message and notifies no listener. It allocates no memory if a
 * request can run at once on a free local slot.
 *
 * <p>The design follows gRPC's {@code PickResult pickSubchannel(args)} and Knative's {@code
 * lbPolicy}, which returns a function to release its target.
 */
public final class Pick {
  private Pick() {}

  /** Ranks the set's replicas with the set's ranker, as seen from the loop of the request. */
  public static void rank(
      ReplicaSet set, WaiterOwner who, ReplicaRanker.Ranking ranking, RandomGenerator random) {
    ranking.clear();
    set.ranker.rank(set.seenFrom(who.loopIndex()), who, random, ranking);
  }

  /**
   * Acquires the request's slots of the first replica with as many free slots. This method tries
   * the ranked replicas in their order, and then all eligible replicas, so that it finds each of
   * them.
   *
   * @param holdNanos the hold time in nanoseconds, or {@link Grant#RUN} to run at once
   * @param kept a replica to leave out, set aside for another request; null for none
   * @return null if every replica that the request accepts is full
   */
  public static @Nullable Grant from(
      ReplicaSet set,
      ReplicaRanker.Ranking ranking,
      WaiterOwner who,
      long holdNanos,
      RandomGenerator random,
      @Nullable RoutedReplica kept) {
    int size = set.eligible.length;
    for (int place = 0; place < ranking.size(); place++) {
      RoutedReplica ranked = set.at(ranking.get(place));
      Grant grant = ranked == null ? null : ask(ranked, who, holdNanos, kept);
      if (grant != null) {
        return grant;
      }
    }
    int start = size == 0 ? 0 : random.nextInt(size);
    for (int i = 0; i < size; i++) {
      Grant grant = ask(set.eligible[(start + i) % size], who, holdNanos, kept);
      if (grant != null) {
        return grant;
      }
    }
    return null;
  }

  /**
   * Acquires the request's slots and a batch for this request alone, at the first ranked local
   * replica that runs no batch. The caller pumps the queue if this method returns null: another
   * waiter may have met the slots or the batch that this method gave back.
   *
   * @param key the {@link WaiterOwner#batchKey} of the request
   * @param rules rules that start a batch at an idle replica at once
   * @param nowNanos the time on the instance's clock
   */
  public static @Nullable Grant atIdle(
      ReplicaSet set,
      ReplicaRanker.Ranking ranking,
      WaiterOwner who,
      String key,
      BatchSettings rules,
      long nowNanos) {
    for (int place = 0; place < ranking.size(); place++) {
      RoutedReplica each = set.at(ranking.get(place));
      BatchSeats seats = each == null ? null : each.batches();
      boolean isIdle = seats != null && !seats.isBusy() && seats.loose(key) == 0;
      Grant slot = isIdle ? ask(each, who, Grant.RUN, null) : null;
      if (slot != null) {
        BatchGroup group = seats.tryOpen(key, nowNanos, rules);
        if (group == null) {
          slot.giveBack(who);
          return null;
        }
        try {
          return slot.seated(group);
        } finally {
          group.seal();
        }
      }
    }
    return null;
  }

  /** Acquires the request's slots of one replica, for the time until its grant is used. */
  static @Nullable Grant on(RoutedReplica replica, WaiterOwner who) {
    return ask(replica, who, who.holdNanos(), null);
  }

  private static @Nullable Grant ask(
      RoutedReplica replica, WaiterOwner who, long holdNanos, @Nullable RoutedReplica kept) {
    return replica != kept && who.accepts(replica) && replica.limits.tryTake(who.limit())
        ? orGiveBack(replica.take(holdNanos, who.cost()), replica, who)
        : null;
  }

  /** Gives back the place within a limit if no slot is free. */
  private static @Nullable Grant orGiveBack(
      @Nullable Grant slot, RoutedReplica replica, WaiterOwner who) {
    if (slot == null) {
      replica.limits.giveBack(who.limit());
    }
    return slot;
  }

  /** Completes a request and grants its slots to a waiter, so that they never become free. */
  static @Nullable Grant passOn(RoutedReplica freeing, int done, WaiterOwner to) {
    return freeing.limits.tryTake(to.limit())
        ? orGiveBack(freeing.takeCompleted(done, to.holdNanos(), to.cost()), freeing, to)
        : null;
  }
}
