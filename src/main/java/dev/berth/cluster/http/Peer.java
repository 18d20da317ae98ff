package dev.berth.cluster.http;

/**
 * A node that can be asked.
 *
 * @param name in the cluster
 * @param busName of its process
 * @param host name or address that it advertises
 * @param httpsPort of its admin server for other nodes
 */
public record Peer(String name, String busName, String host, int httpsPort) {
  /** For failures. */
  @Override
  public String toString() {
    return name + " (" + host + ":" + httpsPort + ")";
  }
}
