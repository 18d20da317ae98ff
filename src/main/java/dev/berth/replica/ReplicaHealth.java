package dev.berth.replica;

import dev.berth.metrics.LatencyBuckets;
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
  final HealthWatch watch;
  private final ReplicaHooks hooks;
  private final Executor threads;
  private final LongSupplier nanoClock;
  private final FailureLog failures;
  private final Runnable changed; // an outcome is known, or its time runs from now on
  final LatencyBuckets latencies = new LatencyBuckets(); // one check at a time writes
  private volatile @Nullable Check underWay;

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
  void checkFirst() throws Exception {
    watch.start(nanoClock.getAsLong());
    Check check = new Check();
    underWay = check;
    check.run();
    if (check.failure instanceof Exception failed) {
      throw failed;
    } else if (check.failure instanceof Error failed) {
      throw failed;
    } else if (!check.passed) {
      throw new TimeoutException("checkHealth: not in time (expected: within its timeout)");
    }
  }

  /**
   * Looks at the clock.
   *
   * @param serving whether a check may start
   */
  void tick(boolean serving) {
    if (!serving && underWay == null) {
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
        Check hanging = underWay;
        if (hanging != null) {
          hanging.interrupt();
        }
        changed.run();
      }
      case WAIT_ON -> changed.run();
      case NOTHING -> {}
    }
  }

  private void start() {
    Check check = new Check();
    underWay = check;
    if (!hooks.checkHealthDoesSomething()) {
      check.run(); // no user code: no thread is needed
      return;
    }
    try {
      threads.execute(check);
    } catch (RejectedExecutionException stopping) {
      underWay = null;
      watch.skipped();
    }
  }

  /** Whether a check runs now. */
  boolean underWay() {
    return underWay != null;
  }

  /** One check. Its thread is interrupted while it runs user code, and at no other time. */
  private final class Check implements Runnable {
    private @Nullable Thread thread; // under the lock, while user code runs
    @Nullable Throwable failure;
    boolean passed;

    @Override
    public void run() {
      long began = nanoClock.getAsLong();
      synchronized (this) {
        thread = Thread.currentThread();
      }
      watch.begun(began);
      changed.run();
      Throwable thrown = null;
      try {
        hooks.checkHealth();
      } catch (Throwable user) { // user code
        thrown = user;
      }
      synchronized (this) {
        thread = null;
      }
      Thread.interrupted(); // whatever interrupted this check is over with it
      long now = nanoClock.getAsLong();
      latencies.add(now - began);
      failure = thrown;
      underWay = null;
      passed = watch.finished(thrown == null, now);
      if (thrown != null) {
        failures.add("health check failed", thrown);
      }
      changed.run();
    }

    synchronized void interrupt() {
      if (thread != null) {
        thread.interrupt();
      }
    }
  }
}
