package dev.berth.cluster.control;

import dev.berth.config.ClusterConfig.ClusterRole;
import org.jspecify.annotations.Nullable;

/**
 * An end of a control link. Messages arrive whole and in order, except that heartbeats overtake
 * waiting messages; otherwise the line ends. Confined to its event loop; the user is never called
 * on the caller's stack.
 */
public interface ControlConnection {

  /** The user of this end of the link. */
  interface ControlConnectionHandler {
    /**
     * Handles a received message.
     *
     * @param message a message type of {@link ControlForm}
     */
    void onMessage(Record message);

    /** Notifies the user that the peer's host refused the connection. The end follows. */
    default void onRefused() {}

    /** Notifies the user of the end of the line. Called once; no message follows. */
    void onEnded(String reason);
  }

  /**
   * Sends a message. No effect on a line that has ended.
   *
   * @param message a message type of {@link ControlForm}
   */
  void send(Record message);

  /**
   * Ends the line immediately; messages in flight may be lost. No effect on a line that has ended.
   */
  void end(String reason);

  /** Returns the reason why the peer's certificate does not authorise a node; null when it does. */
  @Nullable String refusal(String cluster, String node, ClusterRole role);
}
