package dev.berth.ingress;

import java.util.concurrent.TimeUnit;

/**
 * Measures how far a body lags behind a minimum rate, once per sweep. Only time counts while the
 * client was expected to send. Bytes above the rate earn no credit: a body that was fast at first
 * and then trickles lags as soon as any other. Confined to the event loop.
 */
final class MinBodyRateMonitor {
  /**
   * Maximum time that one sweep counts, in nanoseconds. A longer gap is the fault of a blocked
   * loop, not of the client.
   */
  static final long MAX_SWEEP_NANOS = TimeUnit.SECONDS.toNanos(1);

  private long sweptNanos;
  private long sweptBytes;
  private boolean awaited = true; // the client was expected to send since the last sweep
  private double lagNanos;

  MinBodyRateMonitor(long now) {
    this.sweptNanos = now;
  }

  /** Records that the reader of the request held the body back, even for a moment. */
  void heldBack() {
    awaited = false;
  }

  /**
   * Returns the lag in nanoseconds at this sweep.
   *
   * @param received bytes so far
   * @param awaits whether the client is expected to send now
   * @param bytesPerSecond minimum rate
   */
  double lagNanos(long now, long received, boolean awaits, int bytesPerSecond) {
    long passed = awaited && awaits ? Math.min(now - sweptNanos, MAX_SWEEP_NANOS) : 0;
    double earned = (received - sweptBytes) * 1e9 / bytesPerSecond;
    lagNanos = Math.max(0, lagNanos + passed - earned);
    awaited = awaits;
    sweptNanos = now;
    sweptBytes = received;
    return lagNanos;
  }
}
