package dev.berth.cluster.membership;

import dev.berth.config.ClusterConfig.ClusterRole;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A node's information about itself.
 *
 * @param name unique among live nodes
 * @param process random id of this start: another id is another node of the same name
 * @param control whether the node is a control node
 * @param zone availability zone; null for none
 * @param host host name for other nodes
 * @param ports listening ports
 */
public record NodeInfo(
    String name,
    String process,
    boolean control,
    @Nullable String zone,
    Map<String, String> labels,
    String host,
    NodePorts ports) {

  /**
   * TCP ports.
   *
   * @param data port of data links
   * @param https port of the admin server and the jars, for other nodes
   * @param http port for clients
   */
  public record NodePorts(int data, int https, int http) {}

  public NodeInfo {
    labels = Map.copyOf(labels);
  }

  public ClusterRole role() {
    return control ? ClusterRole.CONTROL : ClusterRole.WORKER;
  }

  /** Returns the node's name in bus addresses. Addresses of an earlier process have no receiver. */
  public String busName() {
    return name + "~" + process;
  }

  /** Returns the node name in a bus name. */
  public static String nameOf(String busName) {
    return busName.substring(0, busName.indexOf('~'));
  }
}
