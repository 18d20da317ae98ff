package dev.berth.protocol;

import static dev.berth.protocol.Wire.WireForm.SIGNED;

import dev.berth.api.DeploymentId;
import java.util.List;

/**
 * A router's complete state of one deployment, always replaced whole. An older version never
 * replaces a newer one.
 *
 * @param deployment the deployment of all routes
 * @param version orders snapshots of a deployment
 * @param available false when the deployment failed to deploy or was deleted
 * @param replicas routable and draining replicas
 */
public record RoutingSnapshot(
    DeploymentId deployment,
    SnapshotVersion version,
    boolean available,
    List<SnapshotReplica> replicas) {
  public RoutingSnapshot {
    replicas = List.copyOf(replicas);
  }

  /**
   * A replica and whether it accepts new requests; a draining replica accepts only requests with a
   * lease.
   */
  public record SnapshotReplica(ReplicaInfo replica, boolean routable) {}

  /**
   * A totally ordered version: the controller's term first, then its counter.
   *
   * @param term the controller's, which ranks below the generation of the desired state
   * @param counter rises with each change within a term
   */
  @Wire.WireKey
  public record SnapshotVersion(@Wire(SIGNED) long term, @Wire(SIGNED) long counter)
      implements Comparable<SnapshotVersion> {
    /** A version before every published version. */
    public static final SnapshotVersion NONE = new SnapshotVersion(-1, -1);

    /** A version after every published version. */
    public static final SnapshotVersion LAST = new SnapshotVersion(Long.MAX_VALUE, Long.MAX_VALUE);

    @Override
    public int compareTo(SnapshotVersion other) {
      int byTerm = Long.compare(term, other.term);
      return byTerm != 0 ? byTerm : Long.compare(counter, other.counter);
    }
  }
}
