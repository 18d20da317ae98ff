package dev.berth.ingress;

import java.util.concurrent.TimeUnit;

/**
 * Since when a client's socket has taken next to nothing of what waits for it. It is there only
 * while something waits: who has taken all waits for its handler. Confined to its loop.
 */
final class Stall {
  /** Who takes less than this in {@link #AFTER_NANOS} stands still, though it takes a byte. */
  static final int LEAST_BYTES = 1 << 10;

  static final long AFTER_NANOS = TimeUnit.SECONDS.toNanos(1);

  private long takenThen;
  private long sinceNanos;

  /**
   * @param taken bytes by any count that grows, or begins anew, as the socket takes some
   */
  Stall(long taken, long now) {
    takenThen = taken;
    sinceNanos = now;
  }

  void look(long taken, long now) {
    if (Math.abs(taken - takenThen) >= LEAST_BYTES) {
      takenThen = taken;
      sinceNanos = now;
    }
  }

  long sinceNanos() {
    return sinceNanos;
  }
}
