package dev.berth.ingress;

import java.util.concurrent.TimeUnit;

/**
 * How far a body lags behind a least rate, looked at sweep by sweep. Only the time counts in which
 * it was for the client to send, and what came faster counts for nothing later: a body that came
 * fast at first and trickles then lags as soon as any.
 */
final class BodyRate {
  /** Between two sweeps: more is the fault of a loop that stood still, and no client's. */
  static final long LONGEST_SWEEP_NANOS = TimeUnit.SECONDS.toNanos(1);

  private long sweptNanos;
  private long sweptBytes;
  private boolean awaited = true; // in all of the time since then
  private double lagNanos;

  BodyRate(long now) {
    this.sweptNanos = now;
  }

  /** It is held back by whoever handles the request, be it for a moment. */
  void heldBack() {
    awaited = false;
  }

  /**
   * @param received bytes so far
   * @param awaits whether it is for the client to send now
   * @param bytesPerSecond the least rate
   */
  double lagNanos(long now, long received, boolean awaits, int bytesPerSecond) {
    long passed = awaited && awaits ? Math.min(now - sweptNanos, LONGEST_SWEEP_NANOS) : 0;
    double earned = (received - sweptBytes) * 1e9 / bytesPerSecond;
    lagNanos = Math.max(0, lagNanos + passed - earned);
    awaited = awaits;
    sweptNanos = now;
    sweptBytes = received;
    return lagNanos;
  }
}
