package dev.berth.node;

import dev.berth.replica.HookThreads;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The threads of an instance on which user code may block; they end when idle. Any thread. */
final class InstanceThreads implements HookThreads {
  /** Hooks and builders at a time: some of them may wait for long, and others go on beside them. */
  private static final int OFF_LOOP = 32;

  private static final int IDLE_SECONDS = 10;

  // The queue is bounded by the replicas and applications of the instance.
  private final ThreadPoolExecutor offLoop =
      threads("berth-off-loop-", OFF_LOOP, OFF_LOOP, new LinkedBlockingQueue<>());

  // As many as health checks run at a time: at most one for each replica.
  private final ThreadPoolExecutor health =
      threads("berth-health-", 0, Integer.MAX_VALUE, new SynchronousQueue<>());

  // Its queue is bounded by those who ask.
  private final ThreadPoolExecutor commands =
      threads("berth-commands-", 1, 1, new LinkedBlockingQueue<>());

  InstanceThreads() {
    offLoop.allowCoreThreadTimeOut(true);
    commands.allowCoreThreadTimeOut(true);
  }

  private static ThreadPoolExecutor threads(
      String name, int core, int max, BlockingQueue<Runnable> queue) {
    AtomicInteger made = new AtomicInteger();
    return new ThreadPoolExecutor(
        core,
        max,
        IDLE_SECONDS,
        TimeUnit.SECONDS,
        queue,
        task -> {
          Thread thread = new Thread(task, name + made.incrementAndGet());
          thread.setDaemon(true);
          return thread;
        });
  }

  @Override
  public Runnable run(String application, Kind kind, Runnable task) {
    (kind == Kind.HEALTH ? health : offLoop).execute(task);
    return () -> {};
  }

  /**
   * One thread, which carries out the commands of operators: hooks that hang are no bar to them.
   */
  Executor commands() {
    return commands;
  }

  /** No more tasks; those that run are interrupted. */
  void stop() {
    offLoop.shutdownNow();
    health.shutdownNow();
    commands.shutdownNow();
  }
}
