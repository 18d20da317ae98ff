package dev.berth.cluster.membership;

import dev.berth.config.ClusterConfig.Role;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a node says of itself.
 *
 * @param name unique among those that live
 * @param process random, made at its start: another one is another node of the same name
 * @param control whether it is one of the control nodes
 * @param zone that it fails with; null for none
 * @param host that others reach it by
 * @param ports that it listens on
 */
public record NodeInfo(
    String name,
    String process,
    boolean control,
    @Nullable String zone,
    Map<String, String> labels,
    String host,
    Ports ports) {

  /**
   * TCP ports.
   *
   * @param data of requests and their answers
   * @param https of the admin server and the jars, for other nodes
   * @param http of clients
   */
  public record Ports(int data, int https, int http) {}

  public NodeInfo {
    labels = Map.copyOf(labels);
  }

  public Role role() {
    return control ? Role.CONTROL : Role.WORKER;
  }

  /** Its name in addresses: those of an earlier process reach nobody. */
  public String busName() {
    return name + "~" + process;
  }

  /** Of a node, by its bus name. */
  public static String nameOf(String busName) {
    return busName.substring(0, busName.indexOf('~'));
  }
}
