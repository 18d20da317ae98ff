package dev.berth.cluster.data;

/**
 * How old what a peer sent is, by one's own clock. The two monotonic clocks have nothing in common
 * but their rate, about. A ping that leaves at {@code a} and whose answer, written at the peer's
 * {@code p}, is here at {@code b} says that the peer's clock showed {@code p} between {@code a} and
 * {@code b}: the nearer these are the better. With age an answer is worth less, by as much as
 * clocks may drift, until another one is worth more. One that contradicts it replaces it: then a
 * clock has stood still.
 *
 * <p>The earlier end is taken, so that nothing seems younger than it is. Not thread-safe.
 *
 * <p>Source: intersections of intervals, as in Marzullo's algorithm, and RFC 5905 (dispersion).
 */
final class ClockOffset {
  /** Two clocks that are slewed against each other, each by 500 ppm at most. */
  private static final long DRIFT_DIVISOR = 1_000;

  private boolean known;
  private long offset; // to be added to the peer's time, at least
  private long roundTrip;
  private long takenNanos;

  /** All in nanoseconds; the first and the last by one's own clock. */
  void answered(long pingNanos, long peerNanos, long nowNanos) {
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

  /** Whether a ping was answered. */
  boolean isKnown() {
    return known;
  }

  /** When it was sent, by one's own clock; earlier by one way at most. */
  long sentNanos(long peerNanos) {
    return peerNanos + offset;
  }

  /** Whether it may have been sent then: else a clock has stood still since the last answer. */
  boolean isPlausible(long sentNanos, long nowNanos) {
    return nowNanos - sentNanos >= -(roundTrip + drift(nowNanos));
  }
}
