package dev.berth.protocol;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The cluster, as its control node has it.
 *
 * @param clusterId of its first start
 * @param control name of the control node that says so
 * @param revision of what is declared
 * @param mayBeCutOff whether so many nodes are silent at once that this may be the one who is
 */
public record ClusterDetails(
    String name,
    String clusterId,
    long generation,
    long term,
    long revision,
    String control,
    boolean mayBeCutOff,
    List<Node> nodes) {

  /**
   * A node that belongs to it.
   *
   * @param state {@code ALIVE}, {@code SUSPECTED}, {@code CORDONED}, {@code LEAVING}, or what else
   *     is to be known of it first
   * @param registration of its process
   * @param replicas that it is to run, or runs
   * @param unreachableFrom names of nodes that do not reach it
   */
  public record Node(
      String name,
      String role,
      @Nullable String zone,
      Map<String, String> labels,
      String host,
      String state,
      long registration,
      int replicas,
      List<String> unreachableFrom) {}

  /** The list is copied. */
  public ClusterDetails {
    nodes = List.copyOf(nodes);
  }
}
