package dev.berth.replica.threads;

import java.util.concurrent.Executor;

/** The threads on which one replica's blocking handler runs. Any thread may call. */
public interface HandlerThreads extends Executor {

  /**
   * Runs a task on a thread of its own.
   *
   * @throws java.util.concurrent.RejectedExecutionException when these are stopped, or when the
   *     instance's limit of threads is reached; the task never runs
   * @throws OutOfMemoryError when the operating system gives no thread; the task never runs, unless
   *     a virtual thread had taken it already
   */
  @Override
  void execute(Runnable task);

  /** The number of slots changed: as many calls may block at once. */
  void resize(int maxOngoing);

  /** No more tasks; those that run are interrupted. */
  void stop();

  /** Makes the threads of a replica. */
  @FunctionalInterface
  interface Factory {
    /**
     * @param application that shares the instance's limit of threads with the others
     * @param virtual whether the deployment asks for virtual threads
     */
    HandlerThreads create(String application, String replicaId, int maxOngoing, boolean virtual);
  }
}
