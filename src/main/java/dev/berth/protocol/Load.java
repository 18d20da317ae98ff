package dev.berth.protocol;

/**
 * What a replica says of its slots with every answer, in one long: sequence (32 bits), max (16),
 * ongoing (16). The sequence orders reports of one replica incarnation, so that a late answer never
 * overwrites a newer one; it wraps, and is compared by difference.
 */
public final class Load {
  /** No report: an answer that says nothing of the replica's slots. */
  public static final long NONE = 0;

  private Load() {}

  /**
   * Packs a report. Counts are 0 to 65 535; max is at least 1, which keeps a report apart from
   * NONE.
   */
  public static long of(int ongoing, int max, int sequence) {
    return ((long) sequence << 32) | ((long) (max & 0xFFFF) << 16) | (ongoing & 0xFFFF);
  }

  /** Requests running or reserved. */
  public static int ongoing(long load) {
    return (int) (load & 0xFFFF);
  }

  /** Slots. */
  public static int max(long load) {
    return (int) ((load >>> 16) & 0xFFFF);
  }

  public static int sequence(long load) {
    return (int) (load >>> 32);
  }

  /** Whether {@code load} was reported after {@code other}. */
  public static boolean isNewer(long load, long other) {
    return other == NONE || sequence(load) - sequence(other) > 0;
  }
}
