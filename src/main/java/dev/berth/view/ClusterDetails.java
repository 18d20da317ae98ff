package dev.berth.view;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Status of the cluster, as reported by one of its nodes.
 *
 * @param clusterId id from the first start of the cluster; empty before the node has joined
 * @param revision of the desired state
 * @param node name of the reporting node
 * @param control name of the control node, which then also reports; null while it is unreachable,
 *     and a node reports its last known state
 * @param mayBeCutOff whether many nodes are silent at once, so that the reporting node may itself
 *     be isolated; replicas of the silent nodes are not replaced yet
 * @param standsBy reason why the controller sends no commands, or why this node has no controller;
 *     null if the controller is active
 * @param refusedBy reasons of nodes that refuse the controller, by node name
 * @param strangers whether a node with another cluster id tries to connect
 * @param awaited names of nodes registered earlier that have neither connected nor been declared
 *     lost
 * @param cordoned names of nodes that get no replicas; a name need not belong to a member
 * @param upstreams owners of upstreams; empty where only the controller knows them
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
    List<Node> nodes,
    List<UpstreamOwner> upstreams) {

  /**
   * The slots of an upstream that a node may use.
   *
   * @param upstream url and id
   * @param replicaId replica that uses the slots
   * @param slots number of slots by the log
   * @param leaseMs lease of the node in milliseconds; 0 for never
   * @param silent whether the node is lost, so that its requests may still run
   */
  public record UpstreamOwner(
      String upstream, String node, String replicaId, int slots, long leaseMs, boolean silent) {}

  /**
   * A member node.
   *
   * @param nodeId node id in replica ids; a new process with the same name gets another id
   * @param state {@code ALIVE}, {@code SUSPECTED}, {@code CORDONED}, {@code LEAVING}, or another
   *     state that takes precedence
   * @param registration of its process
   * @param replicas number of replicas assigned or running; null if known only to the controller
   * @param busAddresses number of event bus addresses of its applications' consumers; null if the
   *     reporting node does not know them
   * @param silentMs milliseconds since the last message from the node; null if known only to the
   *     controller
   * @param pausedMs length of its last pause in milliseconds, 0 for none; null if known only to the
   *     controller
   * @param unreachableFrom names of nodes whose data links do not reach it
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
      @Nullable Integer busAddresses,
      @Nullable Long silentMs,
      @Nullable Long pausedMs,
      List<String> unreachableFrom) {}
}
