package dev.berth.protocol;

/**
 * The slots that a request needs, and the number of requests that wait behind it, in one number: a
 * request of one slot with none behind it is 1. The replica reserves the slots of a batch for as
 * many of them.
 */
public final class SlotDemand {
  /**
   * Maximum of leases in one offer. The counter of its first attempt is a multiple, so that a
   * router numbers offers by it.
   */
  public static final int MAX_LEASES = 64;

  private static final int MAX_BEHIND = Short.MAX_VALUE;

  private SlotDemand() {}

  /** Throws if an offer has no lease, or more than {@link #MAX_LEASES}. */
  static void checkLeases(int leases) {
    if (leases < 1 || leases > MAX_LEASES) {
      throw new IllegalArgumentException(
          "leases: " + leases + " (expected: 1 to " + MAX_LEASES + ")");
    }
  }

  /**
   * Returns a demand.
   *
   * @param cost slots of the request, 1 to 65 535
   * @param behind requests behind it; a greater number than 32 767 counts as that
   */
  public static int of(int cost, int behind) {
    return Math.min(Math.max(0, behind), MAX_BEHIND) << Character.SIZE | cost;
  }

  /** Returns the slots of the request. */
  public static int cost(int demand) {
    return demand & Character.MAX_VALUE;
  }

  /** Returns the requests behind it. */
  public static int behind(int demand) {
    return demand >>> Character.SIZE;
  }
}
