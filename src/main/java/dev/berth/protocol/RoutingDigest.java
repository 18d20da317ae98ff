package dev.berth.protocol;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.RoutingSnapshot.SnapshotVersion;

/**
 * A digest of the versions of any number of deployments: the sum of {@link #of} over them. Both
 * parties update it with each change, so that a comparison costs the same for one deployment and
 * for thousands.
 */
public final class RoutingDigest {
  private RoutingDigest() {}

  /** Returns the summand of a deployment at a version; 0 for {@link SnapshotVersion#NONE}. */
  public static long of(DeploymentId deployment, SnapshotVersion version) {
    if (version.equals(SnapshotVersion.NONE)) {
      return 0;
    }
    // The records' hashCode() is unusable: its value may differ in another process.
    long names = 31L * deployment.application().hashCode() + deployment.name().hashCode();
    return mixed(mixed(mixed(names) + version.term()) + version.counter());
  }

  /**
   * Applies the last steps of SplitMix64: every bit of the value affects every bit of the result.
   */
  private static long mixed(long value) {
    long mixed = (value + 0x9E3779B97F4A7C15L);
    mixed = (mixed ^ (mixed >>> 30)) * 0xBF58476D1CE4E5B9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94D049BB133111EBL;
    return mixed ^ (mixed >>> 31);
  }
}
