package dev.berth.routing;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.routing.ranking.ConsistentHashRanker;
import dev.berth.routing.ranking.KeyHash;
import dev.berth.routing.ranking.LeastLatencyRanker;
import dev.berth.routing.ranking.LeastRequestsRanker;
import dev.berth.routing.ranking.LocalityTiers;
import dev.berth.routing.ranking.PowerOfTwoRanker;
import dev.berth.routing.ranking.RoundRobinRanker;
import dev.berth.routing.slots.Asking;
import dev.berth.routing.slots.Grant;
import dev.berth.routing.slots.Pick;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * A whole decision by each ranker, as {@link DecisionBenchmark} makes it by power of two choices:
 * ranking, taking a slot, giving it back. Each asks for its own key. {@code own} is a class of the
 * user's own, under its guard.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class RankerBenchmark {
  @Param({"10", "1000", "10000"})
  public int replicas;

  @Param({
    "power_of_two",
    "least_requests",
    "round_robin",
    "consistent_hash",
    "bounded_load",
    "least_latency",
    "own"
  })
  public String ranker;

  private final ReplicaRanker.Ranking ranking = new ReplicaRanker.Ranking();
  private final SplittableRandom random = new SplittableRandom(3);
  private DeploymentRouter router;
  private long key;
  private final Asking decision = // takes the slot and goes no further
      new Asking(0) {
        @Override
        public long key() {
          return key;
        }
      };

  @Setup
  public void setUp() {
    router = DecisionBenchmark.router(replicas);
    if (ranker.equals("own")) {
      router.ranker.setOwn(
          (candidates, asker, chance, into) -> into.add(chance.nextInt(candidates.size())),
          failed -> {});
    } else {
      router.ranker.set(made());
    }
  }

  private ReplicaRanker made() {
    return switch (ranker) {
      case "least_requests" -> new LeastRequestsRanker(LocalityTiers.ALL, 16);
      case "round_robin" -> new RoundRobinRanker();
      case "consistent_hash" -> new ConsistentHashRanker(100, 2, 0);
      case "bounded_load" -> new ConsistentHashRanker(100, 2, 1.25);
      case "least_latency" ->
          new LeastLatencyRanker(LocalityTiers.ALL, 10_000_000_000L, 1_000_000, System::nanoTime);
      default -> new PowerOfTwoRanker();
    };
  }

  @Benchmark
  public boolean decide() {
    key = random.nextLong() | 1;
    Pick.rank(router.replicas, decision, ranking, random);
    Grant grant = Pick.from(router.replicas, ranking, decision, Grant.RUN, random);
    grant.giveBack();
    return grant.lease() == null;
  }

  /** What a request with a session costs beside its decision. */
  @Benchmark
  public long keyOfASession() {
    return KeyHash.of("session-4f1c9a6e-71b0");
  }
}
