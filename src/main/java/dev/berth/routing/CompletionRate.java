package dev.berth.routing;

import java.util.concurrent.TimeUnit;

/** Recent completion rate in requests per second. Written by one loop, read by any thread. */
final class CompletionRate {
  static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private long endedAtTick;
  private long tickNanos;
  private boolean ticked;
  private volatile double perSecond;

  double perSecond() {
    return perSecond;
  }

  /**
   * Updates the rate. Called about every 525 ms, or more often, and every second while idle.
   *
   * @param ended requests ended since the start
   * @param idle whether the queue is empty
   */
  void measure(long ended, boolean idle, long now) {
    if (!ticked) {
      ticked = true;
      tickNanos = now;
      endedAtTick = ended;
    }
    long elapsed = now - tickNanos;
    if (elapsed < INTERVAL_NANOS) {
      return;
    }
    if (ended == endedAtTick && idle) {
      tickNanos = now; // no request came, so this interval shows no serving rate
      return;
    }
    double rate = (ended - endedAtTick) * 1e9 / elapsed;
    perSecond = perSecond == 0 ? rate : 0.5 * perSecond + 0.5 * rate;
    endedAtTick = ended;
    tickNanos = now;
  }
}
