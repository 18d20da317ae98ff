package dev.berth.protocol;

import java.util.List;
import java.util.Map;

/**
 * Custom autoscaling figures, reported by the handlers of a replica.
 *
 * @param replicaId the replica
 * @param stats at most {@link #MOST_STATS}, each with its name
 */
public record ReplicaStats(String replicaId, List<Stat> stats) {
  /** Maximum number of figures per replica. */
  public static final int MOST_STATS = 16;

  /** Maximum length of a figure's name, in characters. */
  public static final int MOST_NAME_CHARS = 64;

  /**
   * Maximum absolute value of a figure. Figures are summed as whole millionths, which must fit a
   * long.
   */
  public static final double MOST_VALUE = 1e12;

  /** A named figure. */
  public record Stat(String name, double value) {
    public Stat {
      require(!name.isEmpty() && name.length() <= MOST_NAME_CHARS, "name", name, "1 to 64 chars");
      require(Math.abs(value) <= MOST_VALUE, name, value, "a number from -1e12 to 1e12");
    }
  }

  public ReplicaStats {
    require(stats.size() <= MOST_STATS, "figures", stats.size(), "at most " + MOST_STATS);
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
        figures.entrySet().stream().map(each -> new Stat(each.getKey(), each.getValue())).toList());
  }

  private static void require(boolean holds, String what, Object value, String expected) {
    if (!holds) {
      throw new IllegalArgumentException(what + ": " + value + " (expected: " + expected + ")");
    }
  }
}
