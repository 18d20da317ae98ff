package dev.berth.simulation;

import java.util.function.LongSupplier;

/** The monotonic clock of one process: begins anywhere, and is a little fast or slow. */
final class SimulatedClock implements LongSupplier {
  private final World world;
  private final long origin;
  private final double rate;
  private long stoodNanos;

  SimulatedClock(World world, long origin, double rate) {
    this.world = world;
    this.origin = origin;
    this.rate = rate;
  }

  @Override
  public long getAsLong() {
    return origin + (long) ((world.elapsedNanos() - stoodNanos) * rate);
  }

  /** Its machine was suspended, and the clock with it. */
  void stoodStill(long nanos) {
    stoodNanos += nanos;
  }
}
