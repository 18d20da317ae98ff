package dev.berth.cluster.membership;

import org.jspecify.annotations.Nullable;

/**
 * What a controller commands by.
 *
 * @param clusterId born with the first entry of an empty log
 * @param generation raised when the state of a cluster is brought back, or its control nodes change
 * @param term raised by each controller that begins
 * @param revision of what is declared
 */
public record Authority(String clusterId, long generation, long term, long revision) {

  /**
   * Why a controller that has this commands nobody who saw the other; null when it may. Numbers of
   * another cluster are never compared.
   */
  public @Nullable String behind(Authority seen) {
    if (!clusterId.equals(seen.clusterId)) {
      return "cluster id: %s (expected: %s)".formatted(clusterId, seen.clusterId);
    }
    boolean older =
        generation == seen.generation
            ? term < seen.term || revision < seen.revision
            : generation < seen.generation;
    return older
        ? "generation %d, term %d, revision %d (expected: at least %d, %d, %d, which a node has seen)"
            .formatted(generation, term, revision, seen.generation, seen.term, seen.revision)
        : null;
  }

  /** The newest of two of one cluster. */
  Authority newest(Authority other) {
    if (generation != other.generation) {
      return generation > other.generation ? this : other;
    }
    return new Authority(
        clusterId, generation, Math.max(term, other.term), Math.max(revision, other.revision));
  }
}
