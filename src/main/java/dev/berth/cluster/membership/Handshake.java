package dev.berth.cluster.membership;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The first messages on a control link. */
public final class Handshake {
  /**
   * Version of the control link's messages and of their JSON. The controller refuses nodes of
   * another version.
   */
  public static final int VERSION = 7;

  /**
   * Sent by the node.
   *
   * @param messages version of the messages between instances
   * @param registration the node's last registration number; 0 for none
   * @param leaving whether the node has announced its departure
   * @param seen newest authority that commanded the node; null for none
   * @param runs applications with replicas on the node, with their revisions, for display
   */
  public record HandshakeHello(
      int version,
      int messages,
      String cluster,
      NodeInfo node,
      long registration,
      boolean leaving,
      @Nullable ClusterEpoch seen,
      List<String> runs) {}

  /**
   * Sent by the controller to a node that is admitted.
   *
   * @param controller name of the controller's node
   * @param fresh whether the registration is new. The controller then knows none of the process's
   *     replicas, and the process stops them
   */
  public record Welcome(
      ClusterEpoch authority, String controller, long registration, boolean fresh) {}

  /**
   * Sent by the controller to a node that is not admitted. The node retries, because a later HELLO
   * may be admitted.
   *
   * @param reason the difference, in one line
   */
  public record HandshakeRefused(String reason) {}

  private Handshake() {}
}
