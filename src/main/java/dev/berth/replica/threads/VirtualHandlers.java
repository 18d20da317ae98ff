package dev.berth.replica.threads;

import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/**
 * A virtual thread for each call of one replica, on the JVM's common scheduler: a call that
 * computes keeps a carrier from all others. The slots alone bound their number.
 *
 * @param running threads of the instance's calls, with the replica of each
 */
record VirtualHandlers(String replicaId, ExecutorService executor, Map<Thread, String> running)
    implements HandlerThreads {

  /** Virtual threads, from Java 21 on, by their public API; null before. */
  static @Nullable ExecutorService newExecutor() {
    try {
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (ReflectiveOperationException absent) {
      return null; // or refused: Java 19 and 20 have the method, and want a flag
    }
  }

  @Override
  public void execute(Runnable task) {
    executor.execute(
        () -> {
          running.put(Thread.currentThread(), replicaId);
          try {
            task.run();
          } finally {
            running.remove(Thread.currentThread());
          }
        });
  }

  @Override
  public void resize(int maxOngoing) {
    // A thread for each task.
  }

  @Override
  public void stop() {
    executor.shutdownNow();
  }
}
