package dev.berth.node;

import java.util.List;
import java.util.stream.IntStream;

/**
 * On which event loops a replica runs: one that is spread on all of them, the others one loop each,
 * in turn over all deployments. Belongs to the control loop.
 */
final class ReplicaPlacement {
  private final int loops;
  private int next;

  ReplicaPlacement(int loops) {
    this.loops = loops;
  }

  /** Indices of loops; the first one gives the replica its address. */
  List<Integer> place(boolean spread) {
    int first = next;
    next = (next + 1) % loops;
    return spread
        ? IntStream.range(0, loops).mapToObj(offset -> (first + offset) % loops).toList()
        : List.of(first);
  }
}
