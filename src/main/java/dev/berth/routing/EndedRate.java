package dev.berth.routing;

import java.util.concurrent.TimeUnit;

/** Requests ended in a second, of late. One loop measures; any thread reads. */
final class EndedRate {
  static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private long endedAtTick;
  private long tickNanos;
  private boolean ticked;
  private volatile double perSecond;

  double perSecond() {
    return perSecond;
  }

  /**
   * Called about every 525 ms, or more often.
   *
   * @param ended since the start
   * @param idle whether nobody waits
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
      tickNanos = now; // nothing asked for, so nothing learned of how fast requests are served
      return;
    }
    double rate = (ended - endedAtTick) * 1e9 / elapsed;
    perSecond = perSecond == 0 ? rate : 0.5 * perSecond + 0.5 * rate;
    endedAtTick = ended;
    tickNanos = now;
  }
}
