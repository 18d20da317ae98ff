package dev.berth.routing.ranking;

import java.util.random.RandomGenerator;

/**
 * Prefers the replica with the fewest requests of a limited number of choices, relative to its
 * slots. The start is random, so that equal replicas alternate. Exact in a tier within the limit;
 * beyond it, the cost stays that of the limit.
 *
 * <p>Source: Envoy's least-request balancer and its choice_count; Ray Serve's CapacityQueueRouter,
 * which queries one queue of all for the least loaded.
 */
public final class LeastRequestsRanker extends TieredRanker {
  private final int choices;

  /**
   * @param choices maximum replicas examined in each tier; default 16
   */
  public LeastRequestsRanker(LocalityTiers tiers, int choices) {
    super("least_requests", tiers);
    this.choices = choices;
  }

  @Override
  void choose(Candidates candidates, int[] tier, int near, RandomGenerator random, Ranking into) {
    int size = tier.length;
    boolean all = size <= choices;
    int at = random.nextInt(size);
    int best = -1;
    int next = -1; // the second best
    double bestBusy = Double.POSITIVE_INFINITY;
    double nextBusy = Double.POSITIVE_INFINITY;
    for (int i = all ? size : choices; i > 0; i--) {
      double busy = busy(candidates, tier[at]);
      if (busy < bestBusy) {
        next = best;
        nextBusy = bestBusy;
        best = tier[at];
        bestBusy = busy;
      } else if (busy < nextBusy && tier[at] != best) {
        next = tier[at];
        nextBusy = busy;
      }
      at = !all ? random.nextInt(size) : at + 1 == size ? 0 : at + 1;
    }
    boolean nearFirst = near >= 0 && busy(candidates, near) <= bestBusy;
    add(into, near, nearFirst, best, next < 0 ? best : next);
  }
}
