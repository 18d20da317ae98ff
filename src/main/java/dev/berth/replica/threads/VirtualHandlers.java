package dev.berth.replica.threads;

import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/**
 * Runs each call of one replica on a virtual thread of the JVM's common scheduler. A call that
 * computes occupies a carrier, which delays the calls of all replicas. Only the slots bound their
 * number.
 *
 * @param running threads of the instance's calls, with the replica of each
 */
record VirtualHandlers(String replicaId, ExecutorService executor, Map<Thread, String> running)
    implements HandlerThreads {

  /** Returns an executor of virtual threads (Java 21 or later, by its public API); null before. */
  static @Nullable ExecutorService newExecutor() {
    try {
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (ReflectiveOperationException absent) {
      return null; // or refused: Java 19 and 20 need a flag
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
    // No limit: each task gets a thread.
  }

  @Override
  public void stop() {
    executor.shutdownNow();
  }
}
