package dev.berth.desired;

import java.util.function.LongSupplier;

/** Milliseconds since 1970 as the clock of the machine says, and for ages as nobody sets it. */
@FunctionalInterface
public interface TimeOfDay extends LongSupplier {
  /** The time of day at the start plus the time that has passed since; for ages alone. */
  default long steadyMs() {
    return getAsLong();
  }

  /**
   * One whose ages are measured by a monotonic clock.
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
