package dev.berth.routing.ranking;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.fakes.FakeCandidates;
import dev.berth.fakes.ManualClock;
import java.time.Duration;
import java.util.Arrays;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/** The fewest requests, and the lowest latency. */
class LeastRankersTest {
  private final SplittableRandom random = new SplittableRandom(7);
  private final ManualClock clock = new ManualClock();

  // --- requests ---

  private final ReplicaRanker ranker = new LeastRequestsRanker(LocalityTiers.ALL, 16);

  @Test
  void ofFewTheLeastBusyIsFirstAndTheNextFollows() {
    FakeCandidates replicas = FakeCandidates.of(10, 5, 3, 1, 2, 4);
    for (int i = 0; i < 100; i++) {
      assertThat(replicas.ranked(ranker, 0, random)).startsWith(2, 3);
    }
    assertThat(FakeCandidates.of(5, 5, 5, 4).first(ranker, random))
        .as("full ones last")
        .isEqualTo(2);
    assertThat(new FakeCandidates().first(ranker, random)).isEqualTo(-1);
    assertThat(new FakeCandidates(1).first(ranker, random)).isZero();
  }

  /** Ray Serve's test_least_loaded_distribution: nobody has two more than another. */
  @Test
  void requestsThatStayAreSharedEqually() {
    FakeCandidates replicas = new FakeCandidates(9);
    for (int i = 0; i < 900; i++) {
      replicas.loads[replicas.first(ranker, random)]++;
      int least = Arrays.stream(replicas.loads).min().orElseThrow();
      assertThat(Arrays.stream(replicas.loads).max().orElseThrow()).isLessThan(least + 2);
    }
  }

  @Test
  void equalsTakeTurns() {
    FakeCandidates replicas = new FakeCandidates(4);
    int[] firsts = new int[4];
    for (int i = 0; i < 4_000; i++) {
      firsts[replicas.first(ranker, random)]++;
    }
    assertThat(Arrays.stream(firsts)).allMatch(each -> each >= 800 && each <= 1_200);
  }

  @Test
  void ofManyOneThatIsAmongTheLeastBusyIsFirst() {
    FakeCandidates replicas = new FakeCandidates(1_000);
    for (int i = 0; i < 1_000; i++) {
      replicas.loads[i] = i;
    }
    double sum = 0;
    for (int i = 0; i < 2_000; i++) {
      sum += replicas.first(ranker, random);
    }
    assertThat(sum / 2_000).isCloseTo(1_000.0 / 17, Offset.offset(6.0)); // of 16 drawn
  }

  @Test
  void nearerOnesAreFirstWhereTheyShouldBe() {
    FakeCandidates replicas = FakeCandidates.of(10, 5, 4, 0);
    replicas.node = replicas.zone = new int[] {0, 1};
    replicas.loop = new int[] {1};
    assertThat(replicas.first(ranker, random)).isEqualTo(1);
    LocalityTiers none = new LocalityTiers(false, false, false);
    assertThat(replicas.first(new LeastRequestsRanker(none, 16), random)).isEqualTo(2);
  }

  // --- latency ---

  private ReplicaRanker latency() {
    return new LeastLatencyRanker(
        LocalityTiers.ALL, Duration.ofSeconds(10).toNanos(), Duration.ofMillis(1).toNanos(), clock);
  }

  private void answered(FakeCandidates replicas, int index, int tookMillis) {
    replicas.listener(index).answered(tookMillis * 1_000_000L, clock.getAsLong());
  }

  private double millis(ReplicaRanker over, FakeCandidates replicas, int index) {
    return over.score(replicas, index) / 1e6;
  }

  @Test
  void aRiseCountsAtOnceAndAFallSlowly() {
    FakeCandidates two = new FakeCandidates(2);
    ReplicaRanker over = two.rankedBy(latency());
    assertThat(millis(over, two, 0)).as("of one that never answered").isEqualTo(1);
    answered(two, 0, 80);
    assertThat(millis(over, two, 0)).isEqualTo(80);
    answered(two, 0, 1);
    assertThat(millis(over, two, 0)).as("at the same moment").isEqualTo(80);
    clock.advance(Duration.ofSeconds(10));
    assertThat(millis(over, two, 0)).as("by time alone").isCloseTo(29.43, Offset.offset(0.01));
    answered(two, 0, 10);
    assertThat(millis(over, two, 0)).isCloseTo(29.43 + 6.32, Offset.offset(0.01));
    two.loads[0] = 3;
    assertThat(millis(over, two, 0)).as("times requests").isCloseTo(4 * 35.75, Offset.offset(0.05));
  }

  @Test
  void whatIsKnownOfAReplicaStaysWhileOthersComeAndGo() {
    ReplicaRanker root = latency();
    FakeCandidates three = new FakeCandidates(3);
    three.rankedBy(root);
    answered(three, 2, 80);
    FakeCandidates less = three.without("r0");
    assertThat(millis(root.over(less), less, 1)).isEqualTo(80);
    assertThat(millis(root.over(less), less, 0)).isEqualTo(1);
  }

  private record Ending(long atNanos, int server, long began) implements Comparable<Ending> {
    @Override
    public int compareTo(Ending other) {
      return Long.signum(atNanos - other.atNanos);
    }
  }

  /** Requests that each of ten servers gets, the first of which is ten times as slow. */
  private int[] shares(ReplicaRanker ranker, double perSecond, int requests) {
    FakeCandidates servers = new FakeCandidates(10);
    servers.max = 100;
    ReplicaRanker over = servers.rankedBy(ranker);
    PriorityQueue<Ending> endings = new PriorityQueue<>();
    int[] shares = new int[10];
    long next = clock.getAsLong();
    for (int i = 0; i < requests; i++) {
      next += (long) (-Math.log(1 - random.nextDouble()) / perSecond * 1e9);
      while (!endings.isEmpty() && endings.peek().atNanos - next <= 0) {
        Ending ended = endings.remove();
        clock.advance(Duration.ofNanos(ended.atNanos - clock.getAsLong()));
        servers.loads[ended.server]--;
        if (servers.listener(ended.server) != null) {
          servers.listener(ended.server).answered(ended.atNanos - ended.began, ended.atNanos);
        }
      }
      clock.advance(Duration.ofNanos(next - clock.getAsLong()));
      int server = servers.first(over, random);
      servers.loads[server]++;
      shares[server]++;
      double mean = server == 0 ? 100e6 : 10e6;
      long took = (long) (mean * (0.5 + random.nextDouble()));
      endings.add(new Ending(next + took, server, next));
    }
    return shares;
  }

  @Test
  void aSlowReplicaGetsAtMostAThirdOfItsShare() {
    int[] byLatency = shares(latency(), 400, 40_000);
    assertThat(byLatency[0])
        .as("of 4 000 that would be its share: %s", Arrays.toString(byLatency))
        .isPositive()
        .isLessThanOrEqualTo(4_000 / 3);
    assertThat(Arrays.stream(byLatency).skip(1)).allMatch(share -> share > 3_000);
  }
}
