package dev.berth.routing.ranking;

import dev.berth.api.spi.ReplicaRanker;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * Makes the same choice in each tier, nearest tier first.
 *
 * <p>Source: Ray Serve's LocalityMixin, with a tier for the event loop before its own.
 */
abstract class TieredRanker implements ReplicaRanker {
  private static final int NONE = -1;

  private final String name;
  private final LocalityTiers tiers;
  private final Tier[] order; // nearest first

  TieredRanker(String name, LocalityTiers tiers) {
    this.name = name;
    this.tiers = tiers;
    this.order =
        Stream.of(Tier.SAME_NODE, Tier.SAME_ZONE, Tier.ANY)
            .filter(tier -> tier != Tier.SAME_NODE || tiers.node())
            .filter(tier -> tier != Tier.SAME_ZONE || tiers.zone())
            .toArray(Tier[]::new);
  }

  @Override
  public final void rank(
      Candidates candidates, Asker asker, RandomGenerator random, Ranking ranking) {
    int near = NONE;
    if (tiers.loop()) {
      int[] loop = candidates.within(Tier.SAME_LOOP);
      near = loop.length == 0 ? NONE : loop[loop.length == 1 ? 0 : random.nextInt(loop.length)];
    }
    int seen = 0;
    for (Tier tier : order) {
      int[] within = candidates.within(tier);
      if (within.length > seen) { // else equal to the tier before
        if (within.length == 1) {
          ranking.add(within[0]);
        } else {
          choose(candidates, within, seen == 0 ? near : NONE, random, ranking);
        }
        seen = within.length;
      }
    }
  }

  /**
   * Ranks some replicas of a tier of two or more.
   *
   * @param near a replica on the caller's event loop, which goes first if it is no busier; -1 if
   *     there is none
   */
  abstract void choose(
      Candidates candidates, int[] tier, int near, RandomGenerator random, Ranking ranking);

  /** Ranks the better of two replicas, before or after the near one. */
  static void add(Ranking ranking, int near, boolean nearFirst, int better, int worse) {
    if (near >= 0 && nearFirst) {
      ranking.add(near);
    }
    ranking.add(better);
    ranking.add(worse);
    if (near >= 0) {
      ranking.add(near);
    }
  }

  /** Returns a random place other than the first, each with the same probability. */
  static int second(int size, int first, RandomGenerator random) {
    int second = random.nextInt(size - 1);
    return second >= first ? second + 1 : second;
  }

  /**
   * Returns the share of a replica's slots that is in use. It is 1 or more for a full replica, and
   * orders replicas of one maximum by their requests. A replica without slots comes last.
   */
  static double busy(Candidates candidates, int index) {
    int max = candidates.maxOngoing(index);
    return max == 0 ? Double.MAX_VALUE : (double) candidates.ongoing(index) / max;
  }

  @Override
  public final String name() {
    return name;
  }

  @Override
  public double score(Candidates candidates, int index) {
    return busy(candidates, index);
  }
}
