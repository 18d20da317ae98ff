package dev.berth.cluster.membership;

import java.util.List;

/**
 * All nodes of the cluster, under a number that rises.
 *
 * @param generation of the controller that says so
 * @param term of the same
 * @param count of its lists
 */
public record Members(long generation, long term, long count, List<Member> list) {
  /** Before any was told. */
  public static final Members NONE = new Members(0, 0, 0, List.of());

  public Members {
    list = List.copyOf(list);
  }

  /** Whether it is to take the other's place. */
  public boolean isAfter(Members other) {
    if (generation != other.generation) {
      return generation > other.generation;
    }
    return term == other.term ? count > other.count : term > other.term;
  }
}
