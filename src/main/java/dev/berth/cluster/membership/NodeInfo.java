package dev.berth.cluster.membership;

import dev.berth.config.ClusterConfig.ClusterRole;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
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
 * @param bus event bus for other nodes; null for none
 */
public record NodeInfo(
    String name,
    String process,
    boolean control,
    @Nullable String zone,
    Map<String, String> labels,
    String host,
    NodePorts ports,
    @Nullable BusEndpoint bus) {

  /**
   * TCP ports.
   *
   * @param data port of data links
   * @param https port of the admin server and the jars, for other nodes
   * @param http port for clients
   * @param reserved further ports of the process, which no upstream may have; null from a node of
   *     an earlier version
   */
  public record NodePorts(int data, int https, int http, @Nullable List<Integer> reserved) {
    /** Returns {@link #reserved}, empty where unknown. */
    public List<Integer> others() {
      return reserved == null ? List.of() : reserved;
    }
  }

  /**
   * The event bus of a process for other nodes.
   *
   * @param port TCP port
   * @param secret random number that each message to the process must carry. Only the members of
   *     the cluster receive it, and nothing shows it
   */
  public record BusEndpoint(int port, long secret) {
    @Override
    public String toString() {
      return "port " + port;
    }
  }

  public NodeInfo {
    labels = Map.copyOf(labels);
  }

  /** Returns the open ports by their names, for display. */
  public Map<String, Integer> openPorts() {
    Map<String, Integer> open =
        new TreeMap<>(Map.of("data", ports.data, "https", ports.https, "http", ports.http));
    if (bus != null) {
      open.put("bus", bus.port);
    }
    return open;
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
