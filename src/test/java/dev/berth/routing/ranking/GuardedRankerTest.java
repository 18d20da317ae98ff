package dev.berth.routing.ranking;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.fakes.FakeCandidates;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A ranker of the user's own costs speed and nothing else. */
class GuardedRankerTest {
  private final List<Throwable> failures = new ArrayList<>();
  private final FakeCandidates replicas = FakeCandidates.of(10, 3, 1, 2);

  private int first(ReplicaRanker own) {
    ReplicaRanker guarded = new GuardedRanker(own, new PowerOfTwoRanker(), failures::add);
    return replicas.first(replicas.rankedBy(guarded), new SplittableRandom(1));
  }

  /** Prefers the first. */
  private abstract static class First implements ReplicaRanker {
    @Override
    public final void rank(Candidates all, Asker asker, RandomGenerator random, Ranking into) {
      into.add(0);
    }
  }

  private static <T extends Throwable> void sneak(Throwable thrown) throws T {
    @SuppressWarnings("unchecked") // for a checked one that no signature says
    T any = (T) thrown;
    throw any;
  }

  @ParameterizedTest
  @ValueSource(
      classes = {
        RuntimeException.class,
        Exception.class,
        Error.class,
        StackOverflowError.class,
        OutOfMemoryError.class,
        NoSuchMethodError.class
      })
  void whatItThrowsCostsItsOrder(Class<? extends Throwable> kind) throws Exception {
    Throwable thrown = kind.getConstructor().newInstance();
    assertThat(
            first(
                (candidates, asker, random, into) -> {
                  into.add(0);
                  GuardedRankerTest.<RuntimeException>sneak(thrown);
                }))
        .as("power of two's")
        .isBetween(1, 2);
    assertThat(failures).containsExactly(thrown);
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 3, Integer.MAX_VALUE, Integer.MIN_VALUE})
  void anIndexThatIsNoneIsAFailure(int index) {
    assertThat(first((candidates, asker, random, into) -> into.add(index))).isBetween(1, 2);
    assertThat(failures).singleElement().isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void itIsNotAskedWhileThereIsNoReplica() {
    ReplicaRanker guarded =
        new GuardedRanker(
            (candidates, asker, random, into) -> into.add(random.nextInt(candidates.size())),
            new PowerOfTwoRanker(),
            failures::add);
    assertThat(new FakeCandidates().first(guarded, new SplittableRandom(1))).isNegative();
    assertThat(failures).isEmpty();
  }

  @Test
  void whatItAnswersCounts() {
    assertThat(first((candidates, asker, random, into) -> into.add(0))).isZero();
    assertThat(failures).isEmpty();
  }

  @Test
  void whatItWritesWhereItShouldReadHarmsNobody() {
    replicas.node = new int[] {0, 1};
    first(
        (candidates, asker, random, into) -> {
          candidates.within(ReplicaRanker.Tier.SAME_NODE)[0] = 99;
          into.add(0);
        });
    assertThat(replicas.node).containsExactly(0, 1);
  }

  @Test
  void whatItMakesOfAChangeMayFailToo() {
    ReplicaRanker none =
        new First() {
          @Override
          @SuppressWarnings("NullAway")
          public ReplicaRanker over(Candidates changed) {
            return null;
          }

          @Override
          public Listener joined(String replicaId) {
            throw new IllegalStateException(replicaId);
          }

          @Override
          public String name() {
            throw new IllegalStateException("name");
          }

          @Override
          public double score(Candidates candidates, int index) {
            throw new StackOverflowError();
          }
        };
    assertThat(first(none)).isBetween(1, 2);
    assertThat(failures).hasSize(4); // three that joined, one change
    GuardedRanker guarded = new GuardedRanker(none, new PowerOfTwoRanker(), failures::add);
    assertThat(guarded.name()).isEqualTo(none.getClass().getName());
    assertThat(guarded.score(replicas, 0)).isNaN();
  }

  @Test
  void itSeesItsOwnListenersAndWhatTheyThrowIsTold() {
    AtomicReference<ReplicaRanker.Listener> seen = new AtomicReference<>();
    ReplicaRanker.Listener own =
        (took, now) -> {
          throw new AssertionError("told " + took);
        };
    first(
        new First() {
          @Override
          public Listener joined(String replicaId) {
            return own;
          }

          @Override
          public ReplicaRanker over(Candidates changed) {
            seen.set(changed.listener(2));
            return this;
          }
        });
    assertThat(seen.get()).isSameAs(own);
    replicas.listener(2).answered(5, 6);
    assertThat(failures).singleElement().isInstanceOf(AssertionError.class);
  }
}
