package dev.berth.cluster.membership;

import org.jspecify.annotations.Nullable;

/**
 * The authority of a controller: the position of its state, compared by nodes.
 *
 * @param clusterId created with the first entry of an empty log
 * @param generation raised when a cluster's state is restored, or its control nodes change
 * @param term raised at each start of a controller
 * @param revision number of an operator's last command, not raised by the start of a controller
 * @param digest of all commands up to that revision; empty for none
 */
public record ClusterEpoch(
    String clusterId, long generation, long term, long revision, String digest) {

  /**
   * Returns the reason why a controller with this authority may not command a node that saw the
   * other; null when it may. Numbers of another cluster are never compared.
   */
  public @Nullable String behind(ClusterEpoch seen) {
    if (!clusterId.equals(seen.clusterId)) {
      return "cluster id: %s (expected: %s)".formatted(clusterId, seen.clusterId);
    }
    boolean older =
        generation == seen.generation
            ? term < seen.term
                || revision < seen.revision
                || revision == seen.revision && !digest.equals(seen.digest)
            : generation < seen.generation;
    return older ? behind(seen, "at least") : null;
  }

  /**
   * Returns the reason as {@link #behind(ClusterEpoch)}, for a controller whose state lacks the
   * seen command.
   */
  String without(ClusterEpoch seen) {
    return behind(seen, "a state with");
  }

  private String behind(ClusterEpoch seen, String what) {
    return "generation %d, term %d, revision %d (expected: %s %d, %d, %d, which a node has seen)"
        .formatted(generation, term, revision, what, seen.generation, seen.term, seen.revision);
  }

  /** Returns the newest of two authorities of one cluster. */
  ClusterEpoch newest(ClusterEpoch other) {
    if (generation != other.generation) {
      return generation > other.generation ? this : other;
    }
    ClusterEpoch later = revision > other.revision ? this : other;
    return new ClusterEpoch(
        clusterId, generation, Math.max(term, other.term), later.revision, later.digest);
  }
}
