package dev.berth.protocol;

/**
 * What a replica says of its slots with every answer, in one long: sequence (31 bits), whether its
 * event loop is blocked (1), max (16), ongoing (16). The sequence orders reports of one replica
 * incarnation, so that a late answer never overwrites a newer one; it wraps, and is compared by
 * difference: a report from which the last one is further than any answer may be late, is newer
 * whatever it says.
 */
public final class Load {
  /** No report: an answer that says nothing of the replica's slots. */
  public static final long NONE = 0;

  private static final long BLOCKED = 1L << 32;

  private Load() {}

  /**
   * Packs a report. Counts are 0 to 65 535; max is at least 1, which keeps a report apart from
   * NONE. Of the sequence the low 31 bits count.
   */
  public static long of(int ongoing, int max, int sequence) {
    return ((long) sequence << 33) | ((long) (max & 0xFFFF) << 16) | (ongoing & 0xFFFF);
  }

  /** The same report, of a replica whose event loop takes no tasks now. */
  public static long blocked(long load) {
    return load | BLOCKED;
  }

  /** Whether its event loop takes no tasks now. */
  public static boolean isBlocked(long load) {
    return (load & BLOCKED) != 0;
  }

  /** Requests running or reserved. */
  public static int ongoing(long load) {
    return (int) (load & 0xFFFF);
  }

  /** Slots. */
  public static int max(long load) {
    return (int) ((load >>> 16) & 0xFFFF);
  }

  /** Whether {@code load} was reported after {@code other}, less than 2^30 changes apart. */
  public static boolean isNewer(long load, long other) {
    return other == NONE || sequence(load) - sequence(other) > 0;
  }

  /** Shifted up by one, so that the difference wraps as the 31 bits do. */
  private static int sequence(long load) {
    return (int) (load >>> 32) & ~1;
  }
}
