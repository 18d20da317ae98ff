package dev.berth.cluster.data;

import dev.berth.protocol.BusMessage;

/**
 * A message of a link.
 *
 * @param sentNanos when it was sent, by one's own clock; or {@link #LONG_AGO}
 */
record Arrived(BusMessage message, long sentNanos) {
  /** It may have been under way for any time. */
  static final long LONG_AGO = Long.MIN_VALUE;

  /** What is left of it. */
  BusMessage aged(long nowNanos) {
    return message.aged(
        sentNanos == LONG_AGO ? Long.MAX_VALUE : Math.max(0, nowNanos - sentNanos) / 1_000);
  }
}
