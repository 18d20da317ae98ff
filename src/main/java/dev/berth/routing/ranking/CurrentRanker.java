package dev.berth.routing.ranking;

import dev.berth.api.spi.ReplicaRanker;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/** The present ranker of a deployment, changed live while requests wait. Thread-safe. */
public final class CurrentRanker {
  private final ReplicaRanker usual; // initial ranker, and substitute for a failed one
  private final Runnable changed;

  /** Failures of users' rankers ({@code berth_ranker_failures}). */
  public final LongAdder failures = new LongAdder();

  private volatile ReplicaRanker now;

  /**
   * @param changed runs after each change, to apply it
   */
  public CurrentRanker(ReplicaRanker usual, Runnable changed) {
    this.usual = usual;
    this.now = usual;
    this.changed = changed;
  }

  public ReplicaRanker now() {
    return now;
  }

  /** Sets one of Berth's rankers. */
  public void set(ReplicaRanker next) {
    now = next;
    changed.run();
  }

  /**
   * Sets a user's ranker, with the usual ranker as its substitute on failure.
   *
   * @param failed receives the first failure, on the thread of a request
   */
  public void setOwn(ReplicaRanker own, Consumer<Throwable> failed) {
    AtomicBoolean told = new AtomicBoolean();
    set(
        new GuardedRanker(
            own,
            usual,
            thrown -> {
              failures.increment();
              if (!told.getAndSet(true)) {
                failed.accept(thrown);
              }
            }));
  }
}
