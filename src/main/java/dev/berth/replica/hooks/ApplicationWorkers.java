package dev.berth.replica.hooks;

import dev.berth.metrics.Series;
import io.vertx.core.internal.WorkerPool;
import io.vertx.core.spi.VertxThreadFactory;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The worker pools of Vert.x on which {@code executeBlocking} of requests runs: one for each
 * application, so that an application that blocks all of its threads delays itself alone. Threads
 * are made on demand and end when idle. Thread-safe.
 */
public final class ApplicationWorkers {
  /** Tasks of one application that may wait for a thread; one more is rejected. */
  static final int MAX_WAITING = 65_535;

  private static final int IDLE_SECONDS = 10;

  private final int threads;
  private final Map<String, Workers> pools = new ConcurrentHashMap<>(); // by application

  /**
   * @param threads of each application, at most
   */
  public ApplicationWorkers(int threads) {
    this.threads = threads;
  }

  private static final class Workers extends ThreadPoolExecutor {
    final WorkerPool pool = new WorkerPool(this, null);

    Workers(String application, int threads) {
      super(
          threads, threads, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(MAX_WAITING));
      AtomicInteger made = new AtomicInteger();
      setThreadFactory(
          task -> {
            String name = "berth-worker-" + application + "-" + made.incrementAndGet();
            Thread thread =
                VertxThreadFactory.INSTANCE.newVertxThread(task, name, true, 1, TimeUnit.MINUTES);
            thread.setDaemon(true);
            return thread;
          });
      allowCoreThreadTimeOut(true);
    }

    @Override
    public void execute(Runnable task) {
      try {
        super.execute(task);
      } catch (OutOfMemoryError noThread) { // else the context's queue would wait for it for ever
        throw new RejectedExecutionException(noThread);
      }
    }
  }

  /** Returns the pool of an application, made on demand. */
  public WorkerPool pool(String application) {
    return pools.computeIfAbsent(application, name -> new Workers(name, threads)).pool;
  }

  /** Interrupts what an application still runs. Another task of it gets another pool. */
  public void forget(String application) {
    Workers known = pools.remove(application);
    if (known != null) {
      known.shutdownNow();
    }
  }

  /** Shows each application's threads at work, and its tasks that wait for one. */
  public void show(Series into) {
    pools.forEach(
        (application, of) -> {
          Series shown = into.with("application", application);
          shown.gauge("berth_worker_threads_busy", of.getActiveCount(), threads);
          shown.gauge("berth_worker_tasks_waiting", of.getQueue().size(), MAX_WAITING);
        });
  }

  /** Ends all. */
  public void stop() {
    pools.keySet().forEach(this::forget);
  }
}
