package dev.berth.routing.ranking;

import java.util.random.RandomGenerator;

/**
 * Power of two choices: of two replicas drawn at random, the one with the smaller share of its
 * slots in use is preferred, nearest tier first. A replica on the caller's own event loop precedes
 * both if it is no busier, because staying on the loop saves two wake-ups.
 *
 * <p>Source: Mitzenmacher 2001 for the choice; Ray Serve's PowerOfTwoChoicesRequestRouter for the
 * tiers. Berth reads exact counts of local replicas where Ray reads a cache. Ray compares counts,
 * because its replicas of a deployment have one maximum; upstreams have different ones.
 */
public final class PowerOfTwoRanker extends TieredRanker {

  /** Creates a ranker with all tiers. */
  public PowerOfTwoRanker() {
    this(LocalityTiers.ALL);
  }

  public PowerOfTwoRanker(LocalityTiers tiers) {
    super("power_of_two_choices", tiers);
  }

  @Override
  void choose(Candidates candidates, int[] tier, int near, RandomGenerator random, Ranking into) {
    int size = tier.length;
    int first = random.nextInt(size);
    int a = tier[first];
    int b = tier[second(size, first, random)];
    int maxA = candidates.maxOngoing(a);
    int maxB = candidates.maxOngoing(b);
    long ongoingA = ongoing(candidates, a, maxA);
    long ongoingB = ongoing(candidates, b, maxB);
    boolean swap = ongoingB * maxA < ongoingA * maxB; // compares shares without a division
    int max = near < 0 ? 0 : candidates.maxOngoing(near);
    boolean nearFirst =
        max > 0
            && (long) candidates.ongoing(near) * (swap ? maxB : maxA)
                <= (swap ? ongoingB : ongoingA) * max;
    add(into, near, nearFirst, swap ? b : a, swap ? a : b);
  }

  /** Returns the requests of a replica; a replica without slots counts as the busiest. */
  private static long ongoing(Candidates candidates, int index, int max) {
    return max == 0 ? Integer.MAX_VALUE : candidates.ongoing(index);
  }
}
