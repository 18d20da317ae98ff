package dev.berth.desired;

import java.util.function.LongSupplier;

/**
 * A clock in milliseconds since 1970, with a steady variant for ages, which changes of the
 * machine's clock do not affect.
 */
@FunctionalInterface
public interface TimeOfDay extends LongSupplier {
  /** Returns the time of day at the start plus the time that has passed since; for ages alone. */
  default long steadyMs() {
    return getAsLong();
  }

  /**
   * Returns a clock whose ages are measured by a monotonic clock.
   *
   * @param wallMs milliseconds since 1970
   * @param nanos monotonic
   */
  static TimeOfDay of(LongSupplier wallMs, LongSupplier nanos) {
    long beganMs = wallMs.getAsLong() - nanos.getAsLong() / 1_000_000;
    return new TimeOfDay() {
      @Override
      public long getAsLong() {
        return wallMs.getAsLong();
      }

      @Override
      public long steadyMs() {
        return beganMs + nanos.getAsLong() / 1_000_000;
      }
    };
  }
}
