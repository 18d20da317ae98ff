package dev.berth.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Lines of what is other than when it was last looked at. The first look tells of everything. */
final class Changes<T> {
  /** How a change is told. */
  @FunctionalInterface
  interface Line<T> {
    /**
     * @param before null of what is new
     */
    String of(String name, @Nullable T before, T now);
  }

  private final Function<T, Object> state;
  private final Line<T> line;
  private Map<String, T> last = Map.of();

  /**
   * @param state what a change is a change of
   */
  Changes(Function<T, Object> state, Line<T> line) {
    this.state = state;
    this.line = line;
  }

  /** What is new or other, in the order of these; what is gone, after it. */
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
        .forEach(name -> lines.add(Table.oneLine(name + ": gone")));
    last = now;
    return lines;
  }
}
