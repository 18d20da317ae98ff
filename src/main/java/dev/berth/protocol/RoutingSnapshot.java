package dev.berth.protocol;

import static dev.berth.protocol.Wire.Form.SIGNED;

import dev.berth.api.DeploymentId;
import java.util.List;

/**
 * Everything a router knows of one deployment, replaced whole. An older version never replaces a
 * newer one.
 *
 * @param deployment whose replicas these are
 * @param version orders snapshots of a deployment
 * @param available false when the deployment failed to deploy or was deleted
 * @param replicas routable and draining replicas
 */
public record RoutingSnapshot(
    DeploymentId deployment, Version version, boolean available, List<Route> replicas) {
  public RoutingSnapshot {
    replicas = List.copyOf(replicas);
  }

  /** A replica and whether new requests may go there; a draining one takes held leases only. */
  public record Route(ReplicaInfo replica, boolean routable) {}

  /**
   * Totally ordered: the controller's term first, then its counter.
   *
   * @param term the controller's, after the generation of what is declared
   * @param counter rises with each change within a term
   */
  @Wire.Key
  public record Version(@Wire(SIGNED) long term, @Wire(SIGNED) long counter)
      implements Comparable<Version> {
    /** Before every published version. */
    public static final Version NONE = new Version(-1, -1);

    /** After every published version. */
    public static final Version LAST = new Version(Long.MAX_VALUE, Long.MAX_VALUE);

    @Override
    public int compareTo(Version other) {
      int byTerm = Long.compare(term, other.term);
      return byTerm != 0 ? byTerm : Long.compare(counter, other.counter);
    }
  }
}
