package dev.berth.replica;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The threads on which one replica's blocking handler runs. Any thread may call. */
public interface HandlerThreads extends Executor {

  /** The number of slots changed: as many calls may block at once. */
  void resize(int maxOngoing);

  /** No more tasks; those that run are interrupted. */
  void stop();

  /** Makes the threads of a replica. */
  @FunctionalInterface
  interface Factory {
    HandlerThreads create(String replicaId, int maxOngoing);
  }

  /** A virtual thread per task where the JVM has them, else a pool of {@code maxOngoing}. */
  static HandlerThreads create(String replicaId, int maxOngoing) {
    ExecutorService virtual = Virtual.executor();
    return virtual != null ? new Virtual(virtual) : new Pool(replicaId, maxOngoing);
  }

  /** Virtual threads, from Java 21 on; by reflection, as this is compiled for 17. */
  final class Virtual implements HandlerThreads {
    private final ExecutorService executor;

    private Virtual(ExecutorService executor) {
      this.executor = executor;
    }

    static @Nullable ExecutorService executor() {
      try {
        Method make = Executors.class.getMethod("newVirtualThreadPerTaskExecutor");
        return (ExecutorService) make.invoke(null);
      } catch (NoSuchMethodException absent) {
        return null;
      } catch (InvocationTargetException | IllegalAccessException preview) {
        return null; // Java 19 and 20 have the method, and refuse it without a flag
      }
    }

    @Override
    public void execute(Runnable task) {
      executor.execute(task);
    }

    @Override
    public void resize(int maxOngoing) {
      // A thread per task: the slots alone bound them.
    }

    @Override
    public void stop() {
      executor.shutdownNow();
    }
  }

  /** Daemon threads named {@code berth-<replicaId>-<n>}; idle ones end after 30 s. */
  final class Pool implements HandlerThreads {
    private final ThreadPoolExecutor pool;

    Pool(String replicaId, int maxOngoing) {
      AtomicInteger made = new AtomicInteger();
      // The queue holds a task only between the end of a request and the end of its thread's work
      // on it, or when the max was lowered: slots bound it, and the figure is their widest count.
      pool =
          new ThreadPoolExecutor(
              maxOngoing,
              maxOngoing,
              30,
              TimeUnit.SECONDS,
              new LinkedBlockingQueue<>(65_535),
              task -> {
                Thread thread =
                    new Thread(task, "berth-" + replicaId + "-" + made.incrementAndGet());
                thread.setDaemon(true);
                return thread;
              });
      pool.allowCoreThreadTimeOut(true);
    }

    @Override
    public void execute(Runnable task) {
      pool.execute(task);
    }

    @Override
    public synchronized void resize(int maxOngoing) {
      if (maxOngoing > pool.getMaximumPoolSize()) {
        pool.setMaximumPoolSize(maxOngoing);
        pool.setCorePoolSize(maxOngoing);
      } else {
        pool.setCorePoolSize(maxOngoing);
        pool.setMaximumPoolSize(maxOngoing);
      }
    }

    @Override
    public void stop() {
      pool.shutdownNow();
    }
  }
}
