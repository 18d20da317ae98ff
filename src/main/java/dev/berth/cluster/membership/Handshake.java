package dev.berth.cluster.membership;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** What is said before anything else on a control link. */
public final class Handshake {
  /**
   * Of the control link's messages and what they carry as JSON. Nodes of another one are refused.
   */
  public static final int VERSION = 2;

  /**
   * By the node.
   *
   * @param messages version of those that are between instances
   * @param registration that it had last; 0 for none
   * @param leaving whether it has said goodbye before
   * @param seen newest of the controllers that commanded it; null for none
   * @param runs applications that have replicas there, with their revisions, for people
   */
  public record Hello(
      int version,
      int messages,
      String cluster,
      NodeInfo node,
      long registration,
      boolean leaving,
      @Nullable Authority seen,
      List<String> runs) {}

  /**
   * By the controller, to a node that is one of the cluster now.
   *
   * @param controller the node that it is on
   * @param fresh whether the registration is new: nothing of what the process ran before is known
   *     any more, and it stops it
   */
  public record Welcome(Authority authority, String controller, long registration, boolean fresh) {}

  /**
   * By the controller, to a node that is not; it asks again, for the same may be welcome later.
   *
   * @param reason one line that says what differs
   */
  public record Refused(String reason) {}

  private Handshake() {}
}
