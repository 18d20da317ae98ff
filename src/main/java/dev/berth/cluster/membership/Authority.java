package dev.berth.cluster.membership;

import org.jspecify.annotations.Nullable;

/**
 * What a controller commands by.
 *
 * @param clusterId born with the first entry of an empty log
 * @param generation raised when the state of a cluster is brought back, or its control nodes change
 * @param term raised by each controller that begins
 * @param revision number of the last command of an operator, which no start of a controller raises
 * @param digest of that command and all before it; empty for none
 */
public record Authority(
    String clusterId, long generation, long term, long revision, String digest) {

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
            ? term < seen.term
                || revision < seen.revision
                || revision == seen.revision && !digest.equals(seen.digest)
            : generation < seen.generation;
    return older ? behind(seen, "at least") : null;
  }

  /** As {@link #behind(Authority)}, of a controller whose state has not the command seen. */
  String without(Authority seen) {
    return behind(seen, "a state with");
  }

  private String behind(Authority seen, String what) {
    return "generation %d, term %d, revision %d (expected: %s %d, %d, %d, which a node has seen)"
        .formatted(generation, term, revision, what, seen.generation, seen.term, seen.revision);
  }

  /** The newest of two of one cluster. */
  Authority newest(Authority other) {
    if (generation != other.generation) {
      return generation > other.generation ? this : other;
    }
    Authority later = revision > other.revision ? this : other;
    return new Authority(
        clusterId, generation, Math.max(term, other.term), later.revision, later.digest);
  }
}
