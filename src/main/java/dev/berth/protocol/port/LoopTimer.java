package dev.berth.protocol.port;

/** Runs a task on an event loop after a delay. Confined to that loop. */
@FunctionalInterface
public interface LoopTimer {
  /**
   * Schedules a task.
   *
   * @param delayNanos delay, 0 or more; may be rounded up to the timer's resolution
   * @return cancels the task; no effect once the task has run
   */
  Runnable start(long delayNanos, Runnable task);
}
