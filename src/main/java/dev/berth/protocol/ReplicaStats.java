package dev.berth.protocol;

import java.util.List;
import java.util.Map;

/**
 * What the handlers of a replica tell of themselves for autoscaling.
 *
 * @param replicaId the replica
 * @param stats at most {@link #MOST_STATS}, by their names
 */
public record ReplicaStats(String replicaId, List<Stat> stats) {
  /** Figures that one replica may tell. */
  public static final int MOST_STATS = 16;

  /** Characters of a figure's name. */
  public static final int MOST_NAME_CHARS = 64;

  /** Figures are within it, of either sign: their millionths are counted as whole numbers. */
  public static final double MOST_VALUE = 1e12;

  /** A figure under its name. */
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
   * @throws IllegalArgumentException when they are too many, have no name, or are no numbers
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
