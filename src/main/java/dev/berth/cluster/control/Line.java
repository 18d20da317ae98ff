package dev.berth.cluster.control;

import dev.berth.config.ClusterConfig.Role;
import org.jspecify.annotations.Nullable;

/**
 * One control link, as one of its two users has it. What is said arrives whole and in order, but
 * beats before what waits; or the line ends. On its event loop, and never on the caller's stack.
 */
public interface Line {

  /** Whoever is on it. */
  interface User {
    /**
     * @param message one of {@link ControlForm}
     */
    void said(Record message);

    /** Once, and nothing is said after it. */
    void ended(String reason);
  }

  /**
   * @param message one of {@link ControlForm}; no effect on a line that has ended
   */
  void say(Record message);

  /** At once, whatever was said and has not arrived; no effect on one that has ended. */
  void end(String reason);

  /** Why the other side may not be a node, by its certificate; null when it may. */
  @Nullable String refusal(String cluster, String node, Role role);
}
