package dev.berth.cluster.membership;

import java.util.List;

/**
 * What operators are shown.
 *
 * @param nodes that came
 * @param awaited names of those that were registered, and have neither come nor are lost
 * @param notes what is wrong with the controller itself, a line each
 * @param strangers whether a node calls that is of a cluster with another id
 */
public record MembershipStatus(
    List<NodeStatus> nodes, List<String> awaited, List<String> notes, boolean strangers) {
  /** Before anything is known. */
  public static final MembershipStatus NONE =
      new MembershipStatus(List.of(), List.of(), List.of(), false);

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
