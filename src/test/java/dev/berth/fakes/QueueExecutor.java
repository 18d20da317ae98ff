package dev.berth.fakes;

import dev.berth.protocol.port.LoopExecutor;
import java.util.ArrayDeque;

/**
 * Keeps tasks until told to run them, in order, on the caller's thread. Any thread may add. As an
 * event loop it is the thread that made it.
 */
public final class QueueExecutor implements LoopExecutor {
  private final Thread own = Thread.currentThread();
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();

  @Override
  public synchronized void execute(Runnable task) {
    tasks.add(task);
  }

  @Override
  public boolean isHere() {
    return Thread.currentThread() == own;
  }

  private synchronized @org.jspecify.annotations.Nullable Runnable poll() {
    return tasks.poll();
  }

  /** Takes a task back that has not run. */
  public synchronized void remove(Runnable task) {
    tasks.remove(task);
  }

  /** Tasks not yet run. */
  public synchronized int size() {
    return tasks.size();
  }

  /**
   * Runs the oldest task.
   *
   * @return false when there was none
   */
  public boolean runOne() {
    Runnable task = poll();
    if (task == null) {
      return false;
    }
    task.run();
    return true;
  }

  /** Runs tasks, those that tasks add included, until none is left. */
  public int runAll() {
    int ran = 0;
    while (runOne()) {
      if (++ran > 1_000_000) {
        throw new IllegalStateException("tasks: over 1000000 (expected: an end)");
      }
    }
    return ran;
  }
}
