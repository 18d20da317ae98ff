package dev.berth.cluster.data;

/**
 * The clock of a process, from which the time of sending of its messages follows. Not thread-safe.
 */
public final class PeerClock {
  private ClockOffset offset = new ClockOffset();
  private long answeredPing; // send time of the latest ping with a reply

  /**
   * Adds the reply to a ping. All times in nanoseconds; the first and the last on the own clock.
   */
  public void onPong(long pingNanos, long peerNanos, long nowNanos) {
    answeredPing = pingNanos;
    offset.onPong(pingNanos, peerNanos, nowNanos);
  }

  /** Returns whether a reply to a ping sent at {@code sinceNanos} or later has arrived. */
  public boolean isKnownSince(long sinceNanos) {
    return offset.known && answeredPing - sinceNanos >= 0;
  }

  /**
   * Returns the local time of a message's sending; {@link TimestampedFrame#LONG_AGO} unless a reply
   * to a ping sent at {@code sinceNanos} or later has arrived.
   */
  long sentNanos(long peerNanos, long sinceNanos) {
    return isKnownSince(sinceNanos) ? offset.sentNanos(peerNanos) : TimestampedFrame.LONG_AGO;
  }

  /** Returns whether a message may have been sent then; if not, one of the clocks was paused. */
  boolean isPlausible(long sentNanos, long nowNanos) {
    return sentNanos == TimestampedFrame.LONG_AGO || offset.isPlausible(sentNanos, nowNanos);
  }

  /** Discards all measurements. */
  void reset() {
    offset = new ClockOffset();
  }
}
