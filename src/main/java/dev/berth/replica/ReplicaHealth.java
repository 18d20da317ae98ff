package dev.berth.replica;

import dev.berth.metrics.LatencyBuckets;
import dev.berth.replica.hooks.HookThreads.Kind;
import dev.berth.replica.hooks.UserCall;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Runs one replica's health checks as its {@link HealthWatch} wants them, at most one at a time, on
 * a thread that may block. Any thread.
 */
final class ReplicaHealth {
  private static final String LATE = "checkHealth: not in time (expected: within its timeout)";

  final HealthWatch watch;
  private final ReplicaHooks hooks;
  private final Runnable changed; // an outcome is known, or its time runs from now on
  final LatencyBuckets latencies = new LatencyBuckets(); // one check at a time writes
  private final UserCall call = new UserCall();

  /**
   * @param changed told when a check begins on a thread, and after each outcome
   */
  ReplicaHealth(HealthWatch watch, ReplicaHooks hooks, Runnable changed) {
    this.watch = watch;
    this.hooks = hooks;
    this.changed = changed;
  }

  /**
   * The first check, here and now: a replica that is not well does not start.
   *
   * @throws TimeoutException when it took too long, whatever it came to
   */
  void checkFirst() throws Throwable {
    watch.start(hooks.now());
    Throwable failure = check();
    if (failure != null) {
      throw failure;
    }
  }

  /**
   * Looks at the clock.
   *
   * @param serving whether a check may start
   */
  void tick(boolean serving) {
    switch (watch.due(serving, hooks.now())) {
      case CHECK -> start();
      case INTERRUPT -> {
        call.interrupt();
        changed.run();
      }
      case WAIT_ON -> changed.run();
      case NOTHING -> {}
    }
  }

  private void start() {
    if (!hooks.checkHealthDoesSomething()) {
      check(); // no user code: no thread is needed
      return;
    }
    try {
      hooks.run(Kind.HEALTH, this::check);
    } catch (RejectedExecutionException stopping) {
      watch.skipped();
    }
  }

  /**
   * @return what the check threw, or that it was not in time; null when it passed
   */
  private @Nullable Throwable check() {
    long began = hooks.now();
    Throwable thrown =
        call.run(
            began,
            () -> {
              watch.begun(began);
              changed.run();
              hooks.checkHealth();
            });
    long now = hooks.now();
    latencies.add(now - began);
    boolean passed = watch.finished(thrown == null, now);
    if (thrown != null) {
      hooks.failures.add("health check failed", thrown);
    }
    changed.run();
    return thrown != null || passed ? thrown : new TimeoutException(LATE);
  }
}
