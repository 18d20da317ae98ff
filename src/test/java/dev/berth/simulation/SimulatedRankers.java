package dev.berth.simulation;

import dev.berth.routing.ranking.ConsistentHashRanker;
import dev.berth.routing.ranking.CurrentRanker;
import dev.berth.routing.ranking.LeastLatencyRanker;
import dev.berth.routing.ranking.LeastRequestsRanker;
import dev.berth.routing.ranking.LocalityTiers;
import dev.berth.routing.ranking.PowerOfTwoRanker;
import dev.berth.routing.ranking.RoundRobinRanker;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * Changes the ranker of a router while requests are under way: any of Berth's, or a useless one.
 */
final class SimulatedRankers {
  private SimulatedRankers() {}

  /**
   * @return what ranks from now on
   */
  static String change(CurrentRanker ranker, RandomGenerator random, LongSupplier nanoClock) {
    LocalityTiers tiers =
        new LocalityTiers(random.nextBoolean(), random.nextBoolean(), random.nextBoolean());
    switch (random.nextInt(8)) {
      case 0 -> ranker.set(new PowerOfTwoRanker(tiers));
      case 1 -> ranker.set(new LeastRequestsRanker(tiers, 2));
      case 2 -> ranker.set(new RoundRobinRanker());
      case 3 -> ranker.set(new ConsistentHashRanker(20, random.nextInt(3), 0));
      case 4 -> ranker.set(new ConsistentHashRanker(20, 2, 1.25));
      case 5 -> ranker.set(new LeastLatencyRanker(tiers, 1_000_000_000, 1_000_000, nanoClock));
      case 6 ->
          ranker.setOwn((all, asker, chance, ranking) -> ranking.add(all.size()), failed -> {});
      default ->
          ranker.setOwn(
              (all, asker, chance, ranking) -> {
                throw new LinkageError("of no use");
              },
              failed -> {});
    }
    return ranker.now().name() + " " + tiers;
  }
}
