package dev.berth.cluster.membership;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A numbered list of all nodes of the cluster. Later lists have higher numbers.
 *
 * @param generation of the controller that publishes the list
 * @param term of the same controller
 * @param count number of the list within the term
 */
public record MemberList(long generation, long term, long count, List<Member> list) {
  /** The list before the first publication. */
  public static final MemberList NONE = new MemberList(0, 0, 0, List.of());

  public MemberList {
    list = List.copyOf(list);
  }

  /** Returns the member with a bus name; null when there is none. */
  public @Nullable Member find(String busName) {
    return list.stream()
        .filter(each -> each.node().busName().equals(busName))
        .findFirst()
        .orElse(null);
  }

  /** Returns whether this list replaces the other. */
  public boolean isAfter(MemberList other) {
    if (generation != other.generation) {
      return generation > other.generation;
    }
    return term == other.term ? count > other.count : term > other.term;
  }
}
