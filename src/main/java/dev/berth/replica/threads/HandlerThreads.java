package dev.berth.replica.threads;

import java.util.concurrent.Executor;

/** Threads that run the blocking handler of one replica. Thread-safe. */
public interface HandlerThreads extends Executor {

  /**
   * Runs a task on a thread of its own.
   *
   * @throws java.util.concurrent.RejectedExecutionException when these threads are stopped, or at
   *     the instance's limit of threads; the task never runs
   * @throws OutOfMemoryError when the operating system provides no thread; the task never runs,
   *     unless a virtual thread had already started it
   */
  @Override
  void execute(Runnable task);

  /** Sets the number of slots, which is the number of calls that may block at once. */
  void resize(int maxOngoing);

  /** Rejects further tasks and interrupts the running ones. */
  void stop();

  /** Creates the threads of a replica. */
  @FunctionalInterface
  interface HandlerThreadsFactory {
    /**
     * Creates the threads of one replica.
     *
     * @param application owner of the replica; applications share the instance's limit of threads
     * @param virtual whether the deployment requests virtual threads
     */
    HandlerThreads create(String application, String replicaId, int maxOngoing, boolean virtual);
  }
}
