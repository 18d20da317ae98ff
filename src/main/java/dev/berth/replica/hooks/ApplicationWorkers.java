package dev.berth.replica.hooks;

import dev.berth.metrics.MetricSeries;
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
 * Thread-safe set of the Vert.x worker pools that run {@code executeBlocking} of requests, one pool
 * per application. An application that blocks all of its threads thus delays only itself. Threads
 * are made on demand and end when idle.
 */
public final class ApplicationWorkers {
  /** Maximum of tasks of one application that wait for a thread; further tasks are rejected. */
  static final int MAX_WAITING = 65_535;

  private static final int IDLE_SECONDS = 10;

  private final int threads;
  private final Map<String, ApplicationWorkerPool> pools =
      new ConcurrentHashMap<>(); // by application

  /**
   * @param threads maximum of threads per application
   */
  public ApplicationWorkers(int threads) {
    this.threads = threads;
  }

  private static final class ApplicationWorkerPool extends ThreadPoolExecutor {
    final WorkerPool pool = new WorkerPool(this, null);

    ApplicationWorkerPool(String application, int threads) {
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
      } catch (OutOfMemoryError noThread) { // else the context's queue would wait for ever
        throw new RejectedExecutionException(noThread);
      }
    }
  }

  /** Returns the pool of an application, made on demand. */
  public WorkerPool pool(String application) {
    return pools.computeIfAbsent(application, name -> new ApplicationWorkerPool(name, threads))
        .pool;
  }

  /**
   * Interrupts the running tasks of an application and drops its pool. A later task gets a new
   * pool.
   */
  public void forget(String application) {
    ApplicationWorkerPool known = pools.remove(application);
    if (known != null) {
      known.shutdownNow();
    }
  }

  /** Reports the busy threads and the waiting tasks of each application. */
  public void show(MetricSeries into) {
    pools.forEach(
        (application, of) -> {
          MetricSeries shown = into.with("application", application);
          shown.gauge("berth_worker_threads_busy", of.getActiveCount(), threads);
          shown.gauge("berth_worker_tasks_waiting", of.getQueue().size(), MAX_WAITING);
        });
  }

  /** Drops the pools of all applications and interrupts their tasks. */
  public void stop() {
    pools.keySet().forEach(this::forget);
  }
}
