package dev.berth.routing.ranking;

import dev.berth.api.spi.ReplicaRanker;
import java.util.random.RandomGenerator;

/**
 * Power of two choices: of two replicas drawn at random the one with fewer requests is preferred,
 * nearest tier first. A replica on the caller's own event loop goes before both when it is no
 * busier, because staying on the loop saves two wake-ups.
 *
 * <p>Source: Mitzenmacher 2001 for the choice; Ray Serve's PowerOfTwoChoicesRequestRouter for the
 * tiers. Ours reads exact counts of this instance's replicas where Ray reads a cache.
 */
public final class PowerOfTwoRanker implements ReplicaRanker {

  @Override
  public void rank(Candidates candidates, RandomGenerator random, Ranking ranking) {
    int[] node = candidates.within(Tier.SAME_NODE);
    int[] loop = candidates.within(Tier.SAME_LOOP);
    int near = loop.length == 0 ? -1 : loop[loop.length == 1 ? 0 : random.nextInt(loop.length)];
    pair(candidates, node, near, random, ranking);
    int[] zone = candidates.within(Tier.SAME_ZONE);
    if (zone.length > node.length) {
      pair(candidates, zone, -1, random, ranking);
    }
    int[] any = candidates.within(Tier.ANY);
    if (any.length > zone.length) {
      pair(candidates, any, -1, random, ranking);
    }
  }

  @Override
  public String name() {
    return "power_of_two_choices";
  }

  @Override
  public double score(Candidates candidates, int index) {
    return busy(candidates, index);
  }

  private static void pair(
      Candidates candidates, int[] tier, int near, RandomGenerator random, Ranking ranking) {
    int size = tier.length;
    if (size == 0) {
      return;
    }
    if (size == 1) {
      ranking.add(tier[0]);
      return;
    }
    int first = random.nextInt(size);
    int second = random.nextInt(size - 1);
    if (second >= first) {
      second++; // distinct, and each pair equally likely
    }
    int a = tier[first];
    int b = tier[second];
    int better = busy(candidates, b) < busy(candidates, a) ? b : a;
    if (near >= 0 && busy(candidates, near) <= busy(candidates, better)) {
      ranking.add(near);
    }
    ranking.add(better);
    ranking.add(better == a ? b : a);
    if (near >= 0) {
      ranking.add(near);
    }
  }

  /** Requests there; one without a free slot comes after all that have one. */
  private static int busy(Candidates candidates, int index) {
    int ongoing = candidates.ongoing(index);
    return ongoing < candidates.maxOngoing(index) ? ongoing : ongoing + (1 << 20);
  }
}
