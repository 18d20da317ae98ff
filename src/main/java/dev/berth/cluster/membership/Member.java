package dev.berth.cluster.membership;

/**
 * A node of the cluster, as recorded by its controller.
 *
 * @param registration number of this process until it is lost; compared for equality only
 */
public record Member(NodeInfo node, long registration, MemberState state) {

  /** The state of a member, for placement. If several apply, the first in this order. */
  public enum MemberState {
    /** The node was silent for too long, and is not lost yet. */
    SUSPECTED,
    /** The node finishes its requests and accepts nothing new. */
    LEAVING,
    /** The controller places no further replicas on the node. */
    CORDONED,
    ALIVE
  }
}
