package dev.berth.protocol;

/**
 * The load report that a replica attaches to each reply, packed into one long: sequence (31 bits),
 * blocked event loop (1), max (16), ongoing (16).
 *
 * <p>The sequence orders the reports of one replica incarnation, so that a late reply never
 * overwrites a newer report. The sequence wraps; two reports are compared by their difference. Once
 * the last report is older than the maximum delay of a reply, any report is newer.
 */
public final class LoadReport {
  /** No report: the reply contains no load. */
  public static final long NONE = 0;

  private static final long BLOCKED = 1L << 32;

  private LoadReport() {}

  /**
   * Returns a packed report, which is never {@link #NONE}. Counts are 0 to 65 535; a maximum of 0
   * reports a closed replica. Only the low 31 bits of the sequence are used.
   */
  public static long of(int ongoing, int max, int sequence) {
    long load = ((long) sequence << 33) | ((long) (max & 0xFFFF) << 16) | (ongoing & 0xFFFF);
    return load == NONE ? of(0, 0, -1) : load; // numbered as the one before
  }

  /** Returns the same report with the mark of a blocked event loop. */
  public static long blocked(long load) {
    return load | BLOCKED;
  }

  /** Returns whether the replica's event loop was blocked: it executed no tasks. */
  public static boolean isBlocked(long load) {
    return (load & BLOCKED) != 0;
  }

  /** Returns the number of running and reserved requests. */
  public static int ongoing(long load) {
    return (int) (load & 0xFFFF);
  }

  /** Returns the number of slots; 0 while the replica is closed. */
  public static int max(long load) {
    return (int) ((load >>> 16) & 0xFFFF);
  }

  /**
   * Returns whether {@code load} was reported after {@code other}, less than 2^30 changes apart.
   */
  public static boolean isNewer(long load, long other) {
    return other == NONE || sequence(load) - sequence(other) > 0;
  }

  /** Returns the sequence shifted left by one, so that the difference wraps as the 31 bits do. */
  private static int sequence(long load) {
    return (int) (load >>> 32) & ~1;
  }
}
