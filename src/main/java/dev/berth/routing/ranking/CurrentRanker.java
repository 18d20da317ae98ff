package dev.berth.routing.ranking;

import dev.berth.api.spi.ReplicaRanker;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/** Which ranker a deployment has now: changed live, while requests wait. Any thread. */
public final class CurrentRanker {
  private final ReplicaRanker usual; // at first, and in place of one that fails
  private final Runnable changed;
  private final LongAdder failures = new LongAdder();
  private volatile ReplicaRanker now;

  /**
   * @param changed told of each change, which it is to carry out
   */
  public CurrentRanker(ReplicaRanker usual, Runnable changed) {
    this.usual = usual;
    this.now = usual;
    this.changed = changed;
  }

  public ReplicaRanker now() {
    return now;
  }

  /** One of Berth's ranks from now on. */
  public void set(ReplicaRanker next) {
    now = next;
    changed.run();
  }

  /**
   * One of the user's own ranks from now on, and the usual one where it fails.
   *
   * @param failed told of its first failure, on the thread of a request
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

  /** Failures of rankers of the user's own ({@code berth_ranker_failures}). */
  public long failures() {
    return failures.sum();
  }
}
