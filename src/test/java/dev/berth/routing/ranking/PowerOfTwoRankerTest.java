package dev.berth.routing.ranking;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.fakes.FakeCandidates;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PowerOfTwoRankerTest {
  private final SplittableRandom random = new SplittableRandom(3);
  private final ReplicaRanker.Ranking ranking = new ReplicaRanker.Ranking();

  private static int[] of(int... indices) {
    return indices;
  }

  private static FakeCandidates replicas(int[] loads, int max, int[] loop, int[] node, int[] zone) {
    FakeCandidates made = FakeCandidates.of(max, loads);
    made.loop = loop;
    made.node = node;
    made.zone = zone;
    return made;
  }

  private int first(FakeCandidates replicas) {
    return first(new PowerOfTwoRanker(), replicas);
  }

  private int first(ReplicaRanker ranker, FakeCandidates replicas) {
    ranking.clear();
    ranker.rank(replicas, () -> ReplicaRanker.Asker.NO_KEY, random, ranking);
    return ranking.size() == 0 ? -1 : ranking.get(0);
  }

  @Test
  void ofNoReplicaNoneIsRanked() {
    assertThat(first(replicas(of(), 5, of(), of(), of()))).isEqualTo(-1);
  }

  @Test
  void theOnlyReplicaIsRanked() {
    assertThat(first(replicas(of(9), 10, of(), of(), of()))).isZero();
  }

  @Test
  void ofTwoTheLessBusyIsFirstAndAFullOneLast() {
    for (int i = 0; i < 50; i++) {
      assertThat(first(replicas(of(3, 2), 10, of(), of(), of()))).isOne();
      assertThat(first(replicas(of(5, 4), 5, of(), of(), of()))).isOne();
    }
  }

  @Test
  void eachPairIsEquallyLikely() {
    int[] wins = new int[4];
    for (int i = 0; i < 60_000; i++) {
      wins[first(replicas(of(0, 1, 2, 3), 10, of(), of(), of()))]++;
    }
    // Of 6 pairs the idlest is in 3, the next wins 2, the next 1, the busiest none.
    assertThat(wins[0]).isBetween(29_000, 31_000);
    assertThat(wins[1]).isBetween(19_000, 21_000);
    assertThat(wins[2]).isBetween(9_200, 10_800);
    assertThat(wins[3]).isZero();
  }

  @Test
  void theCallersLoopIsFirstWhenNoBusierAndElseNot() {
    for (int i = 0; i < 50; i++) {
      assertThat(first(replicas(of(2, 2, 2), 9, of(1), of(0, 1, 2), of(0, 1, 2)))).isOne();
      assertThat(first(replicas(of(1, 2, 1), 9, of(1), of(0, 1, 2), of(0, 1, 2)))).isNotEqualTo(1);
    }
  }

  @Test
  void ofSeveralOfTheCallersLoopOneIsDrawn() {
    int[] firsts = new int[3];
    for (int i = 0; i < 300; i++) {
      firsts[first(replicas(of(2, 2, 2), 9, of(1, 2), of(0, 1, 2), of(0, 1, 2)))]++;
    }
    assertThat(firsts).satisfies(each -> assertThat(each[1]).isBetween(100, 200));
    assertThat(firsts[0]).isZero();
  }

  @Test
  void nearerTiersComeFirst() {
    FakeCandidates replicas = replicas(of(8, 8, 4, 4, 0, 0), 10, of(), of(0, 1), of(0, 1, 2, 3));
    for (int i = 0; i < 50; i++) {
      assertThat(first(replicas)).isIn(0, 1);
      first(replicas(of(8, 8, 0, 0, 0, 0), 10, of(), of(1), of(0, 1)));
      assertThat(List.of(ranking.get(0), ranking.get(1))).containsExactly(1, 0);
    }
  }

  @Test
  void aTierThatIsOffComesBeforeNoOther() {
    FakeCandidates replicas = replicas(of(8, 7, 1, 9), 10, of(0), of(0, 1), of(0, 1, 2));
    for (int i = 0; i < 50; i++) {
      assertThat(first(new PowerOfTwoRanker(new Tiers(false, false, true)), replicas))
          .as("the zone alone")
          .isIn(1, 2);
      assertThat(first(new PowerOfTwoRanker(new Tiers(false, true, false)), replicas))
          .as("the instance alone")
          .isOne();
      assertThat(first(new PowerOfTwoRanker(new Tiers(true, false, false)), replicas))
          .as("the loop's own, when it is no busier")
          .isLessThan(3);
    }
    replicas.loads[0] = 0;
    for (int i = 0; i < 50; i++) {
      assertThat(first(new PowerOfTwoRanker(new Tiers(true, false, false)), replicas)).isZero();
    }
  }

  @Test
  void aRankingHoldsEachIndexOnceAndNoMoreThanItsCapacity() {
    for (int i = 0; i < 20; i++) {
      ranking.add(i % 12);
    }
    assertThat(ranking.size()).isEqualTo(ReplicaRanker.Ranking.CAPACITY);
    assertThat(IntStream.range(0, ranking.size()).map(ranking::get).distinct().count())
        .isEqualTo(ranking.size());
  }
}
