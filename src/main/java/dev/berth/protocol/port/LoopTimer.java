package dev.berth.protocol.port;

/** Runs a task on an event loop after a delay. Called on that loop only. */
@FunctionalInterface
public interface LoopTimer {
  /**
   * @param delayNanos from now, 0 or more; may be rounded up to what the timer can do
   * @return takes the task back; no effect once it has run
   */
  Runnable start(long delayNanos, Runnable task);
}
