package dev.berth.cluster.data;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.wire.WireFormatException;
import io.vertx.core.buffer.Buffer;

/**
 * A message of a link, as it came.
 *
 * @param sentNanos when it was sent, by one's own clock; or {@link #LONG_AGO}
 */
record Arrived(Buffer frame, long sentNanos) {
  /** It may have been under way for any time. */
  static final long LONG_AGO = Long.MIN_VALUE;

  /**
   * With what is left of it.
   *
   * @throws WireFormatException when it is none
   */
  BusMessage read(long nowNanos) {
    long age = sentNanos == LONG_AGO ? Long.MAX_VALUE : Math.max(0, nowNanos - sentNanos) / 1_000;
    return DataFrame.message(frame, age);
  }
}
