package dev.berth.ingress;

import java.util.concurrent.TimeUnit;

/**
 * Tracks the time since a client's socket last made progress. Exists only while bytes wait for the
 * client; a client that has read everything waits for its handler. Confined to the event loop.
 */
final class WriteStall {
  /**
   * Minimum progress in bytes within {@link #AFTER_NANOS}. A client below it is stalled, even if it
   * takes single bytes.
   */
  static final int MIN_PROGRESS_BYTES = 1 << 10;

  static final long AFTER_NANOS = TimeUnit.SECONDS.toNanos(1);

  private long takenThen;
  private long sinceNanos;

  /**
   * @param taken count that increases, or restarts, when the socket takes bytes
   */
  WriteStall(long taken, long now) {
    takenThen = taken;
    sinceNanos = now;
  }

  void look(long taken, long now) {
    if (Math.abs(taken - takenThen) >= MIN_PROGRESS_BYTES) {
      takenThen = taken;
      sinceNanos = now;
    }
  }

  long sinceNanos() {
    return sinceNanos;
  }
}
