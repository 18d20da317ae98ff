package dev.berth.replica;

import dev.berth.replica.hooks.DaemonThread;
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
    ExecutorService virtual = Virtual.make();
    return virtual != null ? new Virtual(virtual) : new Pool(replicaId, maxOngoing);
  }

  /** Virtual threads, from Java 21 on; by reflection, as this is compiled for 17. */
  record Virtual(ExecutorService executor) implements HandlerThreads {
    static @Nullable ExecutorService make() {
      try {
        Method make = Executors.class.getMethod("newVirtualThreadPerTaskExecutor");
        return (ExecutorService) make.invoke(null);
      } catch (ReflectiveOperationException absent) {
        return null; // or refused: Java 19 and 20 have the method, and want a flag
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
  final class Pool extends ThreadPoolExecutor implements HandlerThreads {
    // The queue holds a task only between the end of a request and the end of its thread's work
    // on it, or when the max was lowered: slots bound it, and the figure is their widest count.
    Pool(String replicaId, int maxOngoing) {
      super(maxOngoing, maxOngoing, 30, TimeUnit.SECONDS, new LinkedBlockingQueue<>(65_535));
      AtomicInteger made = new AtomicInteger();
      String prefix = "berth-" + replicaId + "-";
      setThreadFactory(task -> new DaemonThread(task, prefix + made.incrementAndGet()));
      allowCoreThreadTimeOut(true);
    }

    @Override
    public synchronized void resize(int maxOngoing) {
      if (maxOngoing > getMaximumPoolSize()) {
        setMaximumPoolSize(maxOngoing);
        setCorePoolSize(maxOngoing);
      } else {
        setCorePoolSize(maxOngoing);
        setMaximumPoolSize(maxOngoing);
      }
    }

    @Override
    public void stop() {
      shutdownNow();
    }
  }
}
