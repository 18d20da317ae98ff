package dev.berth.protocol;

import java.util.List;
import java.util.Map;

/**
 * Custom autoscaling figures, reported by the handlers of a replica.
 *
 * @param replicaId the replica
 * @param stats at most {@link #MAX_STATS}, each with its name
 */
public record ReplicaStats(String replicaId, List<NamedStat> stats) {
  /** Maximum number of figures per replica. */
  public static final int MAX_STATS = 16;

  /** Maximum length of a figure's name, in characters. */
  public static final int MAX_NAME_CHARS = 64;

  /**
   * Maximum absolute value of a figure. Figures are summed as whole millionths, which must fit a
   * long.
   */
  public static final double MAX_VALUE = 1e12;

  /** A named figure. */
  public record NamedStat(String name, double value) {
    public NamedStat {
      require(!name.isEmpty() && name.length() <= MAX_NAME_CHARS, "name", name, "1 to 64 chars");
      require(Math.abs(value) <= MAX_VALUE, name, value, "a number from -1e12 to 1e12");
    }
  }

  public ReplicaStats {
    require(stats.size() <= MAX_STATS, "figures", stats.size(), "at most " + MAX_STATS);
  }

  /**
   * Returns the figures of a replica.
   *
   * @throws IllegalArgumentException when there are too many figures, a name is empty or too long,
   *     or a value is not a number within the bound
   */
  public static ReplicaStats of(String replicaId, Map<String, Double> figures) {
    return new ReplicaStats(
        replicaId,
        figures.entrySet().stream()
            .map(each -> new NamedStat(each.getKey(), each.getValue()))
            .toList());
  }

  private static void require(boolean holds, String what, Object value, String expected) {
    if (!holds) {
      throw new IllegalArgumentException(what + ": " + value + " (expected: " + expected + ")");
    }
  }
}
