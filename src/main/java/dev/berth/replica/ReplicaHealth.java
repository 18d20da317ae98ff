package dev.berth.replica;

import dev.berth.metrics.LatencyBuckets;
import dev.berth.replica.hooks.UserCall;
import dev.berth.replica.log.FailureLog;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs one replica's health checks as its {@link HealthWatch} wants them, at most one at a time, on
 * a thread that may block. Any thread.
 */
final class ReplicaHealth {
  private static final String LATE = "checkHealth: not in time (expected: within its timeout)";

  final HealthWatch watch;
  private final ReplicaHooks hooks;
  private final Executor threads;
  private final LongSupplier nanoClock;
  private final FailureLog failures;
  private final Runnable changed; // an outcome is known, or its time runs from now on
  final LatencyBuckets latencies = new LatencyBuckets(); // one check at a time writes
  private final UserCall call = new UserCall();
  private volatile boolean underWay;

  /**
   * @param changed told when a check begins on a thread, and after each outcome
   */
  ReplicaHealth(
      HealthWatch watch,
      ReplicaHooks hooks,
      Executor threads,
      LongSupplier nanoClock,
      FailureLog failures,
      Runnable changed) {
    this.watch = watch;
    this.hooks = hooks;
    this.threads = threads;
    this.nanoClock = nanoClock;
    this.failures = failures;
    this.changed = changed;
  }

  /**
   * The first check, here and now: a replica that is not well does not start.
   *
   * @throws TimeoutException when it took too long, whatever it came to
   */
  void checkFirst() throws Throwable {
    watch.start(nanoClock.getAsLong());
    underWay = true;
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
    if (!serving && !underWay) {
      return;
    }
    switch (watch.due(nanoClock.getAsLong())) {
      case CHECK -> {
        if (serving) {
          start();
        } else {
          watch.skipped();
        }
      }
      case INTERRUPT -> {
        call.interrupt();
        changed.run();
      }
      case WAIT_ON -> changed.run();
      case NOTHING -> {}
    }
  }

  private void start() {
    underWay = true;
    if (!hooks.checkHealthDoesSomething()) {
      check(); // no user code: no thread is needed
      return;
    }
    try {
      threads.execute(this::check);
    } catch (RejectedExecutionException stopping) {
      underWay = false;
      watch.skipped();
    }
  }

  /** Whether a check runs now. */
  boolean underWay() {
    return underWay;
  }

  /**
   * @return what the check threw, or that it was not in time; null when it passed
   */
  private @Nullable Throwable check() {
    long began = nanoClock.getAsLong();
    Throwable thrown =
        call.run(
            began,
            () -> {
              watch.begun(began);
              changed.run();
              hooks.checkHealth();
            });
    long now = nanoClock.getAsLong();
    latencies.add(now - began);
    underWay = false;
    boolean passed = watch.finished(thrown == null, now);
    if (thrown != null) {
      failures.add("health check failed", thrown);
    }
    changed.run();
    return thrown != null || passed ? thrown : new TimeoutException(LATE);
  }
}
