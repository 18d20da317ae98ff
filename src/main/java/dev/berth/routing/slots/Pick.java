package dev.berth.routing.slots;

import dev.berth.api.spi.ReplicaRanker;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Acquires slots: the only place that does so, for new requests, waiters, chooses and legs. To
 * choose a replica is to reserve a slot there. A pick sends no message and notifies no listener,
 * and allocates nothing if a local slot is free to run on.
 *
 * <p>Sources: gRPC's {@code PickResult pickSubchannel(args)}, Knative's {@code lbPolicy}, which
 * returns how to release its target.
 */
public final class Pick {
  private Pick() {}

  /** Ranks the set's replicas, as seen from the asker's loop, with the set's ranker. */
  public static void rank(
      ReplicaSet set, Waiting who, ReplicaRanker.Ranking ranking, RandomGenerator random) {
    ranking.clear();
    set.ranker.rank(set.seenFrom(who.loopIndex()), who, random, ranking);
  }

  /**
   * Acquires a slot of the first replica that has one: ranked replicas in their order, then the
   * rest, so that no request is refused while a slot is free.
   *
   * @param holdNanos the hold time in nanoseconds, or {@link Grant#RUN} to run at once
   * @return null if every acceptable replica is full
   */
  public static @Nullable Grant from(
      ReplicaSet set,
      ReplicaRanker.Ranking ranking,
      Waiting who,
      long holdNanos,
      RandomGenerator random) {
    int size = set.eligible.length;
    for (int place = 0; place < ranking.size(); place++) {
      int index = ranking.get(place);
      if (index < 0 || index >= size) {
        continue; // a user's ranker wrote to the ranking later
      }
      Grant grant = ask(set.eligible[index], who, holdNanos);
      if (grant != null) {
        return grant;
      }
    }
    int start = size == 0 ? 0 : random.nextInt(size);
    for (int i = 0; i < size; i++) {
      Grant grant = ask(set.eligible[(start + i) % size], who, holdNanos);
      if (grant != null) {
        return grant;
      }
    }
    return null;
  }

  private static @Nullable Grant ask(RoutedReplica replica, Waiting who, long holdNanos) {
    return who.accepts(replica) ? replica.take(holdNanos) : null;
  }

  /** Grants a slot that is about to become free to a waiter, so that it never is free. */
  static @Nullable Grant passOn(RoutedReplica freeing, Waiting to) {
    return freeing.takeCompleted(to.holdNanos());
  }
}
