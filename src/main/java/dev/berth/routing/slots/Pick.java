package dev.berth.routing.slots;

import dev.berth.api.spi.ReplicaRanker;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Choosing is reserving: the one place where a slot is taken for somebody, be it a newcomer, one
 * that waits, a choose, or a leg. It sends nothing, tells nobody, and allocates nothing where a
 * slot of this instance is free to run on.
 *
 * <p>Sources: gRPC's {@code PickResult pickSubchannel(args)}, Knative's {@code lbPolicy}, which
 * returns how to give back what it took.
 */
public final class Pick {
  private Pick() {}

  /** Asks the set's ranker for its order, as the replicas are seen from the asker's loop. */
  public static void rank(
      ReplicaSet set, Waiting who, ReplicaRanker.Ranking ranking, RandomGenerator random) {
    ranking.clear();
    set.ranker.rank(set.seenFrom(who.loopIndex()), who, random, ranking);
  }

  /**
   * A slot of the first replica that has one: those that are ranked in their order, then the rest,
   * so that none is refused while one is free.
   *
   * @param holdNanos how long it is held, or {@link Grant#RUN} for one to run on at once
   * @return null when every replica that would do is full
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
        continue; // a ranker of the user's own wrote to it later
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

  /** A slot that is about to be free, to the one who waits for it: it never is. */
  static @Nullable Grant passOn(RoutedReplica freeing, Waiting to) {
    return freeing.takeCompleted(to.holdNanos());
  }
}
