package dev.berth.replica;

import dev.berth.metrics.LatencyBuckets;
import dev.berth.replica.hooks.HookThreads.HookKind;
import dev.berth.replica.hooks.InterruptibleCall;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Runs one replica's health checks when its {@link HealthCheckState} schedules them, one at a time,
 * on a thread that may block. Thread-safe.
 */
final class HealthCheckRunner {
  private static final String LATE = "checkHealth: not in time (expected: within its timeout)";

  final HealthCheckState watch;
  private final ReplicaHooks hooks;
  private final Runnable changed; // callback: a check finished, or its timeout started
  private final LatencyBuckets times; // of all replicas of the deployment; its lock orders writers
  private final InterruptibleCall call = new InterruptibleCall();

  /**
   * @param times receives the duration of each check
   * @param changed callback when a check begins on a thread, and after each outcome
   */
  HealthCheckRunner(
      HealthCheckState watch, ReplicaHooks hooks, LatencyBuckets times, Runnable changed) {
    this.watch = watch;
    this.hooks = hooks;
    this.times = times;
    this.changed = changed;
  }

  /**
   * Runs the first check on this thread: an unhealthy replica does not start.
   *
   * @throws TimeoutException when the check exceeded its timeout, whatever its outcome
   */
  void checkFirst() throws Throwable {
    watch.start(hooks.now());
    Throwable failure = check();
    if (failure != null) {
      throw failure;
    }
  }

  /**
   * Performs the due action of the schedule.
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
      check(); // without user code no thread is needed
      return;
    }
    try {
      hooks.run(HookKind.HEALTH, this::check);
    } catch (RejectedExecutionException stopping) {
      watch.onSkipped();
    }
  }

  /**
   * Runs a check.
   *
   * @return the exception of the check, or a timeout; null when it passed
   */
  private @Nullable Throwable check() {
    long began = hooks.now();
    Throwable thrown =
        call.run(
            began,
            () -> {
              watch.onBegun(began);
              changed.run();
              hooks.checkHealth();
            });
    long now = hooks.now();
    synchronized (times) {
      times.add(now - began);
    }
    boolean passed = watch.onFinished(thrown == null, now);
    if (thrown != null) {
      hooks.failures.add("health check failed", thrown);
    }
    changed.run();
    return thrown != null || passed ? thrown : new TimeoutException(LATE);
  }
}
