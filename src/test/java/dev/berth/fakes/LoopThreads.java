package dev.berth.fakes;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Event loops for tests: single threads that run tasks in order. What a task throws is kept, for
 * the test to fail with.
 */
public final class LoopThreads implements AutoCloseable {
  private final Loop[] loops;
  private final ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();

  public LoopThreads(int count) {
    loops = new Loop[count];
    for (int i = 0; i < count; i++) {
      loops[i] = new Loop("loop-" + i);
    }
  }

  public Loop loop(int index) {
    return loops[index];
  }

  public int count() {
    return loops.length;
  }

  /** Fails with what the first failed task threw. */
  public void rethrow() {
    Throwable first = failures.poll();
    if (first != null) {
      AssertionError error = new AssertionError("a task on a loop failed", first);
      failures.forEach(error::addSuppressed);
      throw error;
    }
  }

  @Override
  public void close() {
    for (Loop loop : loops) {
      loop.executor.shutdownNow();
    }
  }

  /** One thread. */
  public final class Loop implements dev.berth.protocol.port.LoopExecutor {
    private volatile Thread thread;
    private final ThreadPoolExecutor executor;

    private Loop(String name) {
      executor =
          new ThreadPoolExecutor(
              1,
              1,
              0,
              TimeUnit.SECONDS,
              new LinkedBlockingQueue<>(),
              task -> {
                Thread made = new Thread(task, name);
                made.setDaemon(true);
                thread = made;
                return made;
              });
      executor.prestartCoreThread();
    }

    @Override
    public void execute(Runnable task) {
      executor.execute(
          () -> {
            try {
              task.run();
            } catch (Throwable thrown) {
              failures.add(thrown);
            }
          });
    }

    @Override
    public boolean isHere() {
      return Thread.currentThread() == thread;
    }
  }
}
