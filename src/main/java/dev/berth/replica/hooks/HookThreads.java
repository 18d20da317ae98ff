package dev.berth.replica.hooks;

import dev.berth.api.DeploymentId;
import dev.berth.replica.log.WorkFields;
import java.util.concurrent.RejectedExecutionException;

/**
 * Where the user code of applications runs that may block: their builders and the hooks of their
 * handlers. One application's must not keep another's from running. Any thread.
 */
@FunctionalInterface
public interface HookThreads {

  /** What is run; a hanging one of one kind keeps none of another kind waiting. */
  enum Kind {
    /** Reads an application's code and calls its builder. */
    BUILD,
    /** Makes a replica's handlers, and starts them. */
    START,
    RECONFIGURE,
    STOP,
    /** Checks a replica's health. */
    HEALTH,
    /** Asks an autoscaling policy. */
    POLICY,
    /** Asks a replica's handlers for what they tell such a policy. */
    STATS
  }

  /**
   * Runs a task as soon as there is a thread for it.
   *
   * @return takes it back if it has not begun, or does nothing
   * @throws RejectedExecutionException when it will never run
   */
  Runnable run(String application, Kind kind, Runnable task);

  /** As {@link #run}, for a replica: the lines that its user code logs there name it. */
  default Runnable runFor(DeploymentId deployment, String replicaId, Kind kind, Runnable task) {
    return run(
        deployment.application(),
        kind,
        () -> {
          WorkFields.beginOnThread(deployment, replicaId);
          try {
            task.run();
          } finally {
            WorkFields.endOnThread();
          }
        });
  }

  /**
   * Why nothing more of an application runs, in one line: too many of its hooks heeded no
   * interrupt, and their threads are lost. Empty while it runs.
   */
  default String lost(String application) {
    return "";
  }

  /** Looks after its threads; to be called several times a second. */
  default void look() {}
}
