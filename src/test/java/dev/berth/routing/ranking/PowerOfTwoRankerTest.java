package dev.berth.routing.ranking;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.fakes.FakeCandidates;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PowerOfTwoRankerTest {
  private final SplittableRandom random = new SplittableRandom(3);

  private static int[] ints(String text) {
    return Stream.of(text.split(" "))
        .filter(each -> !each.isEmpty())
        .mapToInt(Integer::parseInt)
        .toArray();
  }

  private static FakeCandidates replicas(
      String loads, int max, String loop, String node, String zone) {
    FakeCandidates made = FakeCandidates.of(max, ints(loads));
    made.loop = ints(loop);
    made.node = ints(node);
    made.zone = ints(zone);
    return made;
  }

  /** Of so many decisions these are the first, each in at least a quarter of its share. */
  private void assertFirsts(LocalityTiers tiers, FakeCandidates replicas, String expected) {
    int[] firsts =
        IntStream.generate(() -> replicas.first(new PowerOfTwoRanker(tiers), random))
            .limit(300)
            .toArray();
    assertThat(firsts).containsOnly(ints(expected));
    for (int each : ints(expected)) {
      assertThat(IntStream.of(firsts).filter(first -> first == each).count())
          .isGreaterThan(75 / ints(expected).length);
    }
  }

  @ParameterizedTest(name = "{6}")
  @CsvSource({
    "'', 5, '', '', '', -1, no replica",
    "9, 10, '', '', '', 0, the only one",
    "3 2, 10, '', '', '', 1, the less busy of two",
    "5 4, 5, '', '', '', 1, a full one last",
    "2 2 2, 9, 1, 0 1 2, 0 1 2, 1, the caller's loop when it is no busier",
    "1 2 1, 9, 1, 0 1 2, 0 1 2, 0 2, and else not",
    "2 2 2, 9, 1 2, 0 1 2, 0 1 2, 1 2, one of several on the caller's loop",
    "8 8 4 4 0 0, 10, '', 0 1, 0 1 2 3, 0 1, the instance before all others",
    "8 8 0 0 0 0, 10, '', 1, 0 1, 1, also where it is one alone"
  })
  void theFirstIsOfTheNearestAndThereTheLessBusy(
      String loads, int max, String loop, String node, String zone, String firsts, String what) {
    assertFirsts(LocalityTiers.ALL, replicas(loads, max, loop, node, zone), firsts);
  }

  @ParameterizedTest
  @CsvSource({
    "3 5, 4 16, '', 1",
    "1 3, 4 16, '', 1",
    "1 5, 4 16, '', 0",
    "1 4, 4 16, '', 0 1",
    "4 15, 4 16, '', 1",
    "0 1, 0 4, '', 1",
    "0 4, 0 4, '', 1",
    "5 2 9, 16 4 16, 1, 0 1",
    "5 1 9, 16 4 16, 1, 1",
    "1 0 1, 2 0 2, 1, 0 2"
  })
  void replicasOfDifferentMaximaAreComparedByTheShareInUse(
      String loads, String maxima, String loop, String firsts) {
    FakeCandidates replicas = replicas(loads, 0, loop, "", "");
    replicas.maxima = ints(maxima);
    assertFirsts(LocalityTiers.ALL, replicas, firsts);
    if (loop.isEmpty()) {
      int[] first = {replicas.first(new LeastRequestsRanker(LocalityTiers.ALL, 16), random)};
      assertThat(ints(firsts)).contains(first);
    }
  }

  @Test
  void theNextTierFollowsTheNearest() {
    FakeCandidates replicas = replicas("8 8 0 0 0 0", 10, "", "1", "0 1");
    for (int i = 0; i < 50; i++) {
      assertThat(replicas.ranked(new PowerOfTwoRanker(), 0, random)).startsWith(1, 0);
    }
  }

  @Test
  void eachPairIsEquallyLikely() {
    FakeCandidates replicas = FakeCandidates.of(10, 0, 1, 2, 3);
    int[] wins = new int[4];
    for (int i = 0; i < 60_000; i++) {
      wins[replicas.first(new PowerOfTwoRanker(), random)]++;
    }
    // Of 6 pairs the idlest is in 3, the next wins 2, the next 1, the busiest none.
    assertThat(wins[0]).isBetween(29_000, 31_000);
    assertThat(wins[1]).isBetween(19_000, 21_000);
    assertThat(wins[2]).isBetween(9_200, 10_800);
    assertThat(wins[3]).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "8, false, false, true, 1 2",
    "8, false, true, false, 1",
    "8, true, false, false, 0 1 2",
    "0, true, false, false, 0"
  })
  void aTierThatIsOffComesBeforeNoOther(
      int load, boolean loop, boolean node, boolean zone, String firsts) {
    FakeCandidates replicas = replicas(load + " 7 1 9", 10, "0", "0 1", "0 1 2");
    assertFirsts(new LocalityTiers(loop, node, zone), replicas, firsts);
  }

  @Test
  void aRankingHoldsEachIndexOnceAndNoMoreThanItsCapacity() {
    ReplicaRanker.Ranking ranking = new ReplicaRanker.Ranking();
    IntStream.range(0, 20).forEach(i -> ranking.add(i % 12));
    assertThat(ranking.size()).isEqualTo(ReplicaRanker.Ranking.CAPACITY);
    assertThat(IntStream.range(0, ranking.size()).map(ranking::get).distinct().count())
        .isEqualTo(ranking.size());
  }
}
