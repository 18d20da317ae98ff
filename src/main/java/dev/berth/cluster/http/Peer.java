package dev.berth.cluster.http;

import dev.berth.config.ClusterConfig.Role;

/**
 * A node that can be asked.
 *
 * @param name in the cluster
 * @param busName of its process
 * @param host name or address that it advertises
 * @param httpsPort of its admin server for other nodes
 * @param role that its certificate is to admit
 */
public record Peer(String name, String busName, String host, int httpsPort, Role role) {
  /** For failures. */
  @Override
  public String toString() {
    return name + " (" + host + ":" + httpsPort + ")";
  }
}
