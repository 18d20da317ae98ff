package dev.berth.view;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The cluster, as one of its nodes has it.
 *
 * @param clusterId of its first start; empty before the node has come
 * @param revision of what is declared
 * @param node name of the one that says so
 * @param control name of the control node, which is the one that says so; null while that does not
 *     answer, and a node says what it was told last
 * @param mayBeCutOff whether so many nodes are silent at once that this may be the one who is:
 *     their replicas are not made up for yet
 * @param standsBy why the controller commands nobody, or this node has none; null when it does
 * @param refusedBy why nodes refuse the controller, by name
 * @param strangers whether a node of another cluster id calls
 * @param awaited names of those that were registered before, and have neither come nor are lost
 * @param cordoned names that get no replicas, be they of nodes or not
 */
public record ClusterDetails(
    String name,
    String clusterId,
    long generation,
    long term,
    long revision,
    String node,
    @Nullable String control,
    boolean mayBeCutOff,
    @Nullable String standsBy,
    Map<String, String> refusedBy,
    boolean strangers,
    List<String> awaited,
    List<String> cordoned,
    List<Node> nodes) {

  /**
   * A node that belongs to it.
   *
   * @param nodeId as replicas name it: another process of the same name has another one
   * @param state {@code ALIVE}, {@code SUSPECTED}, {@code CORDONED}, {@code LEAVING}, or what else
   *     is to be known of it first
   * @param registration of its process
   * @param replicas that it is to run, or runs; null when only the controller knows
   * @param silentMs since anything came of it; null as above
   * @param pausedMs that it stood still the last time it did, 0 for never; null as above
   * @param unreachableFrom names of nodes that do not reach it by their data links
   */
  public record Node(
      String name,
      String nodeId,
      String role,
      @Nullable String zone,
      Map<String, String> labels,
      String host,
      Map<String, Integer> ports,
      String state,
      long registration,
      @Nullable Integer replicas,
      @Nullable Long silentMs,
      @Nullable Long pausedMs,
      List<String> unreachableFrom) {}
}
