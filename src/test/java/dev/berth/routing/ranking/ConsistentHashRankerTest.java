package dev.berth.routing.ranking;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.api.spi.ReplicaRanker.Asker;
import dev.berth.fakes.FakeCandidates;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Beside Ray Serve's test_consistent_hash_router.py, what the papers promise. */
class ConsistentHashRankerTest {
  private static final int POINTS = 100;

  private final SplittableRandom random = new SplittableRandom(5);

  private List<String> ranked(ReplicaRanker over, FakeCandidates replicas, long key) {
    return replicas.ranked(over, key, random).stream().map(replicas::replicaId).toList();
  }

  private static ReplicaRanker hash(int fallbacks) {
    return new ConsistentHashRanker(POINTS, fallbacks, 0);
  }

  private static long session(int number) {
    return KeyHash.of("session-" + number);
  }

  /** FNV's own vector of "foobar", each bit of which is then spread over all. */
  @Test
  void textsAreHashedByFnvAndMixed() {
    assertThat(KeyHash.of("foobar")).isEqualTo(KeyHash.mix(0x85944171f73967e8L));
  }

  @Test
  void aKeyIsNoneForNoSessionAlone() {
    assertThat(KeyHash.of("")).isEqualTo(Asker.NO_KEY);
    assertThat(KeyHash.of("a")).isNotEqualTo(Asker.NO_KEY).isEqualTo(KeyHash.of("a"));
    assertThat(KeyHash.of("ä")).isNotEqualTo(KeyHash.of("a"));
  }

  @Test
  void eachReplicaHasItsPointsInOrderRoundTheRing() {
    HashRing ring = HashRing.EMPTY.over(new FakeCandidates(7), POINTS);
    assertThat(ring.size()).isEqualTo(7 * POINTS);
    assertThat(ring.points()).isSorted();
    int[] owned = new int[7];
    IntStream.range(0, ring.size()).forEach(place -> owned[ring.ownerAt(place)]++);
    assertThat(owned).containsOnly(POINTS);
  }

  @Test
  void ofNoReplicasNoneIsRanked() {
    FakeCandidates none = new FakeCandidates();
    assertThat(ranked(none.rankedBy(hash(2)), none, 7)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"0, 1", "2, 3", "4, 5", "7, 5"})
  void asManyFollowTheFirstAsThereAreToBeAndCanBe(int fallbacks, int ranked) {
    FakeCandidates five = new FakeCandidates(5);
    ReplicaRanker over = five.rankedBy(hash(fallbacks));
    for (int i = 0; i < 100; i++) {
      assertThat(ranked(over, five, session(i))).hasSize(ranked).doesNotHaveDuplicates();
    }
  }

  @Test
  void theSameKeyHasTheSameOrder() {
    FakeCandidates five = new FakeCandidates(5);
    ReplicaRanker over = five.rankedBy(hash(2));
    List<String> first = ranked(over, five, session(1));
    for (int i = 0; i < 20; i++) {
      assertThat(ranked(over, five, session(1))).isEqualTo(first);
    }
    FakeCandidates shuffled = new FakeCandidates("r3", "r0", "r4", "r1", "r2");
    assertThat(ranked(shuffled.rankedBy(hash(2)), shuffled, session(1)))
        .as("on another instance, which has them in another order")
        .isEqualTo(first);
  }

  @Test
  void whoHasNoKeyGoesAnywhere() {
    FakeCandidates five = new FakeCandidates(5);
    ReplicaRanker over = five.rankedBy(hash(2));
    Set<String> firsts = new HashSet<>();
    for (int i = 0; i < 200; i++) {
      firsts.add(ranked(over, five, Asker.NO_KEY).get(0));
    }
    assertThat(firsts).hasSize(5);
  }

  @Test
  void aKeyBelongsToTheNextPointAndBeyondTheLastToTheFirst() {
    HashRing ring = HashRing.EMPTY.over(new FakeCandidates(5), POINTS);
    assertThat(ring.after(Long.MIN_VALUE)).as("the lowest key").isZero();
    assertThat(ring.after(Long.MAX_VALUE)).as("the highest").isZero();
    long keys = 1 << 20; // that lie as near to each other as points are told apart
    for (int place = 0; place < ring.size(); place++) {
      long point = ring.points()[place];
      assertThat(ring.after(point - keys)).isEqualTo(place);
      assertThat(ring.after(point)).isEqualTo((place + 1) % ring.size());
    }
  }

  @Test
  void keysAreSpreadEvenlyEnough() {
    FakeCandidates five = new FakeCandidates(5);
    ReplicaRanker over = five.rankedBy(hash(2));
    int[] keys = new int[5];
    for (int i = 0; i < 2_000; i++) {
      keys[five.ranked(over, session(i), random).get(0)]++;
    }
    assertThat(Arrays.stream(keys)).allMatch(each -> each >= 200 && each <= 800);
  }

  /** Which share of the keys, in percent, has another first replica; those of one excepted. */
  private double moved(
      ReplicaRanker root, FakeCandidates before, FakeCandidates after, String but) {
    int keys = 20_000;
    ReplicaRanker first = before.rankedBy(root);
    String[] owners = new String[keys];
    for (int i = 0; i < keys; i++) {
      owners[i] = ranked(first, before, session(i)).get(0);
    }
    ReplicaRanker second = after.rankedBy(root);
    int moved = 0;
    for (int i = 0; i < keys; i++) {
      String now = ranked(second, after, session(i)).get(0);
      moved += now.equals(owners[i]) || owners[i].equals(but) || now.equals(but) ? 0 : 1;
    }
    return 100.0 * moved / keys;
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 5, 20, 100})
  void aReplicaThatJoinsOrLeavesMovesNoMoreThanItsShare(int size) {
    FakeCandidates less = new FakeCandidates(size - 1);
    FakeCandidates all = new FakeCandidates(size);
    double most = 100.0 / size + 5;
    assertThat(moved(hash(2), less, all, "")).isGreaterThan(0).isLessThanOrEqualTo(most);
    assertThat(moved(hash(2), all, less, "")).isGreaterThan(0).isLessThanOrEqualTo(most);
  }

  @Test
  void onlyTheKeysOfTheReplicaItselfMove() {
    FakeCandidates all = new FakeCandidates(8);
    assertThat(moved(hash(2), all, all.without("r3"), "r3")).isZero();
    assertThat(moved(hash(2), all.without("r3"), all, "r3")).isZero();
  }

  /** A point that stays of one that left, or goes with it of another, would show here. */
  @Test
  void aRingThatWasChangedIsTheOneThatIsMadeAtOnce() {
    List<String> all = IntStream.range(0, 12).mapToObj(i -> "replica-" + i).toList();
    HashRing ring = HashRing.EMPTY;
    for (int step = 0; step < 60; step++) {
      List<String> those = new ArrayList<>(all);
      those.removeIf(each -> random.nextInt(3) == 0);
      Collections.shuffle(those, new Random(step));
      String[] now = those.toArray(String[]::new);
      ring = ring.over(new FakeCandidates(now), 20);
      HashRing anew = HashRing.EMPTY.over(new FakeCandidates(now), 20);
      assertThat(ring.points()).isEqualTo(anew.points());
    }
  }

  /** Of requests that all stay, each goes to the first that is ranked. */
  private FakeCandidates filled(int size, int requests, IntToLongFunction key) {
    FakeCandidates replicas = new FakeCandidates(size);
    ReplicaRanker over = replicas.rankedBy(new ConsistentHashRanker(POINTS, 2, 1.25));
    for (int i = 0; i < requests; i++) {
      replicas.loads[replicas.ranked(over, key.applyAsLong(i), random).get(0)]++;
      int most = Arrays.stream(replicas.loads).max().orElseThrow();
      assertThat(most).isLessThanOrEqualTo((int) Math.ceil(1.25 * (i + 1) / size));
    }
    return replicas;
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 10, 100})
  void withALoadFactorNobodyHasMoreThanThatOfTheMean(int size) {
    filled(size, 40 * size, ConsistentHashRankerTest::session);
    FakeCandidates oneKey = filled(size, 40 * size, i -> session(1));
    assertThat(Arrays.stream(oneKey.loads).filter(load -> load > 0).count())
        .as("one key alone goes to no more than it must")
        .isEqualTo((long) Math.ceil(size / 1.25));
  }

  @Test
  void withALoadFactorAKeyIsWithItsOwnReplicaWhereThatHasRoom() {
    FakeCandidates replicas = new FakeCandidates(10);
    ReplicaRanker bounded = replicas.rankedBy(new ConsistentHashRanker(POINTS, 2, 1.25));
    ReplicaRanker free = replicas.rankedBy(hash(2));
    Arrays.fill(replicas.loads, 4);
    for (int i = 0; i < 200; i++) {
      assertThat(ranked(bounded, replicas, session(i)))
          .isEqualTo(ranked(free, replicas, session(i)));
    }
  }
}
