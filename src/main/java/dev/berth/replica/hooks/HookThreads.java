package dev.berth.replica.hooks;

import dev.berth.api.DeploymentId;
import dev.berth.replica.log.RequestLogFields;
import java.util.concurrent.RejectedExecutionException;

/**
 * Threads for user code that may block: the builders of applications and the hooks of their
 * handlers. The hooks of one application must not delay those of another. Thread-safe.
 */
@FunctionalInterface
public interface HookThreads {

  /** Kind of a task. A hanging task of one kind delays no task of another kind. */
  enum HookKind {
    /** Reads an application's code and calls its builder. */
    BUILD,
    /** Creates a replica's handlers and starts them. */
    START,
    RECONFIGURE,
    STOP,
    /** Checks a replica's health. */
    HEALTH,
    /** Calls an autoscaling policy. */
    POLICY,
    /** Reads the statistics that a replica's handlers provide for such a policy. */
    STATS
  }

  /**
   * Runs a task as soon as a thread is available.
   *
   * @return an action that cancels the task if it has not begun, and otherwise does nothing
   * @throws RejectedExecutionException when the task will never run
   */
  Runnable run(String application, HookKind kind, Runnable task);

  /** Runs a task of a replica like {@link #run}. Log lines of its user code name the replica. */
  default Runnable runFor(DeploymentId deployment, String replicaId, HookKind kind, Runnable task) {
    return run(
        deployment.application(),
        kind,
        () -> {
          RequestLogFields.beginOnThread(deployment, replicaId);
          try {
            task.run();
          } finally {
            RequestLogFields.endOnThread();
          }
        });
  }

  /**
   * Returns the reason, in one line, why no further hook of an application runs: too many of its
   * hooks ignored an interrupt, and their threads are lost. Returns an empty string while hooks
   * run.
   */
  default String blockedReason(String application) {
    return "";
  }

  /** Checks the threads. Returns whether the next check is needed soon, else within a second. */
  default boolean look() {
    return false;
  }
}
