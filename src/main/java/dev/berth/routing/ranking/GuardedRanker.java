package dev.berth.routing.ranking;

import dev.berth.api.spi.ReplicaRanker;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Guards a user's ranker, which may throw or return invalid results. On a failure the usual ranker
 * decides, and the failure is reported. The user's ranker receives copies of the arrays that the
 * router reads.
 *
 * @param own the user's ranker
 * @param usual the substitute on a failure
 * @param failed receives each failure, any number of times, on any thread
 */
public record GuardedRanker(ReplicaRanker own, ReplicaRanker usual, Consumer<Throwable> failed)
    implements ReplicaRanker {

  @Override
  public void rank(Candidates candidates, Asker asker, RandomGenerator random, Ranking ranking) {
    int size = candidates.size();
    if (size == 0) {
      return; // user code easily forgets this case
    }
    try {
      own.rank(new GuardedCandidates(candidates), asker, random, ranking);
      for (int place = 0; place < ranking.size(); place++) {
        Objects.checkIndex(ranking.get(place), size);
      }
    } catch (Throwable thrown) { // user code
      failed.accept(thrown);
      ranking.clear();
      usual.rank(candidates, asker, random, ranking);
    }
  }

  @Override
  public ReplicaRanker over(Candidates replicas) {
    GuardedCandidates shown = new GuardedCandidates(replicas);
    ReplicaRanker over = callOrElse(() -> Objects.requireNonNull(own.over(shown), "over"), null);
    return over == null ? usual : new GuardedRanker(over, usual, failed);
  }

  @Override
  public @Nullable Listener joined(String replicaId) {
    Listener made = callOrElse(() -> own.joined(replicaId), null);
    return made == null ? null : new GuardedListener(made, failed);
  }

  @Override
  public String name() {
    return callOrElse(() -> Objects.requireNonNull(own.name(), "name"), own.getClass().getName());
  }

  @Override
  public double score(Candidates candidates, int index) {
    return callOrElse(() -> own.score(new GuardedCandidates(candidates), index), Double.NaN);
  }

  private <T extends @Nullable Object> T callOrElse(Supplier<T> of, T otherwise) {
    try {
      return of.get();
    } catch (Throwable thrown) { // user code
      failed.accept(thrown);
      return otherwise;
    }
  }

  private record GuardedListener(Listener to, Consumer<Throwable> failed) implements Listener {
    @Override
    public void answered(long tookNanos, long nowNanos) {
      try {
        to.answered(tookNanos, nowNanos);
      } catch (Throwable thrown) { // user code
        failed.accept(thrown);
      }
    }
  }

  /** A view of the candidates that user code cannot damage. */
  private record GuardedCandidates(Candidates of) implements Candidates {
    @Override
    public int size() {
      return of.size();
    }

    @Override
    public String replicaId(int index) {
      return of.replicaId(index);
    }

    @Override
    public @Nullable Listener listener(int index) {
      return of.listener(index) instanceof GuardedListener guarded ? guarded.to : null;
    }

    @Override
    public int ongoing(int index) {
      return of.ongoing(index);
    }

    @Override
    public int maxOngoing(int index) {
      return of.maxOngoing(index);
    }

    @Override
    public int[] within(Tier tier) {
      return of.within(tier).clone();
    }
  }
}
