package dev.berth.cluster.membership;

/**
 * A node of the cluster, as its controller has it.
 *
 * @param registration of this process, until it is lost; compared for equality only
 */
public record Member(NodeInfo node, long registration, State state) {

  /** What is to be known before it is given work; the first that holds. */
  public enum State {
    /** It was silent for too long, and is not lost yet. */
    SUSPECTED,
    /** It finishes what it has. */
    LEAVING,
    /** Nothing more is to be placed there. */
    CORDONED,
    ALIVE
  }
}
