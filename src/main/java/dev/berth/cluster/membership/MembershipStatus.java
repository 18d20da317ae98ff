package dev.berth.cluster.membership;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What operators are shown.
 *
 * @param nodes that came
 * @param awaited names of those that were registered, and have neither come nor are lost
 * @param cutOff whether the controller may be the one that is cut off, and waits with each loss
 * @param standsBy why it commands nobody; null when it does
 * @param strangers whether a node calls that is of a cluster with another id
 */
public record MembershipStatus(
    List<NodeStatus> nodes,
    List<String> awaited,
    boolean cutOff,
    @Nullable String standsBy,
    boolean strangers) {

  /**
   * Of a node.
   *
   * @param silentMillis since anything came from it, as sweeps found it
   * @param pausedMillis that it stood still the last time it did, as it says; 0 for never
   * @param unreachableFrom names of nodes that say they cannot reach it
   */
  public record NodeStatus(
      Member member, long silentMillis, long pausedMillis, List<String> unreachableFrom) {}
}
