package dev.berth.cluster.data;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.wire.WireFormatException;
import io.vertx.core.buffer.Buffer;

/**
 * A received message in its wire form.
 *
 * @param sentNanos local time of sending, or {@link #LONG_AGO}
 */
record TimestampedFrame(Buffer frame, long sentNanos) {
  /** Time of sending of a message whose transit time is unknown. */
  static final long LONG_AGO = Long.MIN_VALUE;

  /**
   * Decodes the message with its remaining times.
   *
   * @throws WireFormatException when the frame is not a message
   */
  BusMessage read(long nowNanos) {
    long age = sentNanos == LONG_AGO ? Long.MAX_VALUE : Math.max(0, nowNanos - sentNanos) / 1_000;
    return DataFrame.message(frame, age);
  }
}
