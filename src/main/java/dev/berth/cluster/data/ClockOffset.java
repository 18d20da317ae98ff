package dev.berth.cluster.data;

/**
 * An estimate of the offset of a peer's monotonic clock from the local one, from which the age of
 * the peer's messages follows. The two clocks share only their rate, approximately.
 *
 * <p><b>Measurement.</b> A ping is sent at local time {@code a}. The peer replies at {@code p} of
 * its clock, and the reply arrives at local time {@code b}. The peer's clock therefore showed
 * {@code p} between {@code a} and {@code b}; a shorter round trip gives a better estimate.
 *
 * <p><b>State.</b> The best measurement is retained. Its uncertainty grows with its age by the
 * maximum drift of the clocks, until a later measurement is better. A measurement that contradicts
 * it replaces it, because then one of the clocks was paused.
 *
 * <p><b>Error.</b> The earlier end of the interval is used, so that no message appears younger than
 * it is.
 *
 * <p><b>Concurrency.</b> Not thread-safe.
 *
 * <p>Source: intersections of intervals, as in Marzullo's algorithm, and RFC 5905 (dispersion).
 */
final class ClockOffset {
  /**
   * Elapsed time per unit of drift: two clocks slewed in opposite directions, each by at most 500
   * ppm.
   */
  private static final long DRIFT_DIVISOR = 1_000;

  boolean known;
  private long offset; // lower bound; added to the peer's time
  private long roundTrip;
  private long takenNanos;

  /** Adds a measurement. All times in nanoseconds; the first and the last on the local clock. */
  void onPong(long pingNanos, long peerNanos, long nowNanos) {
    long newOffset = pingNanos - peerNanos;
    long newRoundTrip = nowNanos - pingNanos;
    boolean better = newRoundTrip <= roundTrip + drift(nowNanos);
    if (!known || better || contradicts(newOffset, newRoundTrip, nowNanos)) {
      known = true;
      offset = newOffset;
      roundTrip = newRoundTrip;
      takenNanos = nowNanos;
    }
  }

  private boolean contradicts(long newOffset, long newRoundTrip, long nowNanos) {
    long drift = drift(nowNanos);
    return newOffset > offset + roundTrip + drift || newOffset + newRoundTrip < offset - drift;
  }

  private long drift(long nowNanos) {
    return (nowNanos - takenNanos) / DRIFT_DIVISOR;
  }

  /**
   * Returns the local time of a message's sending, too early by at most the transit time of a ping.
   */
  long sentNanos(long peerNanos) {
    return peerNanos + offset;
  }

  /**
   * Returns whether a message may have been sent at a time. If not, a clock was paused since the
   * last measurement.
   */
  boolean isPlausible(long sentNanos, long nowNanos) {
    return nowNanos - sentNanos >= -(roundTrip + drift(nowNanos));
  }
}
