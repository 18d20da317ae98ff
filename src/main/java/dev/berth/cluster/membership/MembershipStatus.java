package dev.berth.cluster.membership;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The status of the cluster's nodes, for operators.
 *
 * @param nodes that sent HELLO
 * @param awaited names of registered nodes that have neither sent HELLO nor are lost
 * @param cutOff whether the controller may be partitioned, and delays each removal
 * @param standsBy reason why the controller does not command; null when it does
 * @param strangers whether a node of another cluster id connects
 */
public record MembershipStatus(
    List<NodeStatus> nodes,
    List<String> awaited,
    boolean cutOff,
    @Nullable String standsBy,
    boolean strangers) {

  /**
   * The status of one node.
   *
   * @param silentMillis time since its last message, as measured by sweeps
   * @param pausedMillis duration of its last pause, as reported by the node; 0 for none
   * @param unreachableFrom names of the nodes that report this node as unreachable
   */
  public record NodeStatus(
      Member member, long silentMillis, long pausedMillis, List<String> unreachableFrom) {}
}
