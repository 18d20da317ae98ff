package dev.berth.routing.ranking;

import dev.berth.api.spi.ReplicaRanker;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * The nearest tier first, and in each the same choice.
 *
 * <p>Source: Ray Serve's LocalityMixin, with a tier for the event loop before its own.
 */
abstract class TieredRanker implements ReplicaRanker {
  private static final int NONE = -1;

  private final String name;
  private final Tiers tiers;
  private final Tier[] order; // one after the other

  TieredRanker(String name, Tiers tiers) {
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
      if (within.length > seen) { // else it has no more than the one before
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
   * Ranks some of a tier of two or more.
   *
   * @param near one of it on the caller's event loop, which goes first when it is no busier; -1
   *     where there is none
   */
  abstract void choose(
      Candidates candidates, int[] tier, int near, RandomGenerator random, Ranking ranking);

  /** Ranks the better of two, before or behind the near one. */
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

  /** Another than the first, each of them equally likely. */
  static int second(int size, int first, RandomGenerator random) {
    int second = random.nextInt(size - 1);
    return second >= first ? second + 1 : second;
  }

  /** Requests there; one without a free slot comes after all that have one. */
  static int busy(Candidates candidates, int index) {
    int ongoing = candidates.ongoing(index);
    return ongoing < candidates.maxOngoing(index) ? ongoing : ongoing + (1 << 20);
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
