package dev.berth.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Lines for the differences between two statuses. The first status differs in everything. */
final class StatusDiff<T> {
  /** Line of a difference. */
  @FunctionalInterface
  interface StatusDiffLine<T> {
    /**
     * @param before null for a new entry
     */
    String of(String name, @Nullable T before, T now);
  }

  private final Function<T, Object> state;
  private final StatusDiffLine<T> line;
  private Map<String, T> last = Map.of();

  /**
   * @param state returns the compared part of an entry
   */
  StatusDiff(Function<T, Object> state, StatusDiffLine<T> line) {
    this.state = state;
    this.line = line;
  }

  /** Returns lines for new and changed entries in their order, then for removed ones. */
  List<String> since(Map<String, T> now) {
    List<String> lines = new ArrayList<>();
    now.forEach(
        (name, each) -> {
          T before = last.get(name);
          if (before == null || !state.apply(before).equals(state.apply(each))) {
            lines.add(line.of(name, before, each));
          }
        });
    last.keySet().stream()
        .filter(name -> !now.containsKey(name))
        .forEach(name -> lines.add(Table.oneLine(name + ": removed")));
    last = now;
    return lines;
  }
}
