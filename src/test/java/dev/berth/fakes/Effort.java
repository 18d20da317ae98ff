package dev.berth.fakes;

/**
 * How much work a multi-threaded proof does: short in every build, long by {@code
 * -Dconcurrency.mode=long}. Amounts are counts of operations, never durations, so that a run can be
 * repeated.
 */
public final class Effort {
  private static final int LONG_FACTOR = 20; // minutes instead of seconds on two cores

  private Effort() {}

  /** As many as a short run does, or a long run's multiple of it. */
  public static int times(int inShortMode) {
    return isLong() ? Math.multiplyExact(inShortMode, LONG_FACTOR) : inShortMode;
  }

  public static boolean isLong() {
    return "long".equals(System.getProperty("concurrency.mode"));
  }
}
