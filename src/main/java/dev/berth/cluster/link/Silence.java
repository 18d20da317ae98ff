package dev.berth.cluster.link;

/**
 * How long a peer has said nothing, by the time that its observer ran. A sweep that found nothing
 * adds what passed since the one before, and two intervals at most: so a pause of the observer's
 * own adds at most one interval more than it would have added anyway, and an observer that is
 * always slow still comes to an end. Sweep after the loop has read its sockets ({@link LinkSweep}).
 * Not thread-safe.
 */
public final class Silence {
  private final long mostPerSweep; // nanoseconds
  private final long timeoutNanos;
  private boolean heard; // since the last sweep
  private long silentNanos;
  private long sweptNanos;

  /**
   * @param intervalNanos between two sweeps, and between two signs of life
   * @param nowNanos on the observer's clock; nothing was heard so far
   */
  public Silence(long intervalNanos, long timeoutNanos, long nowNanos) {
    this.mostPerSweep = 2 * intervalNanos;
    this.timeoutNanos = timeoutNanos;
    this.sweptNanos = nowNanos;
  }

  /** Anything came. */
  public void heard() {
    heard = true;
  }

  /** Whether the peer is suspected now. */
  public boolean sweep(long nowNanos) {
    silentNanos = heard ? 0 : silentNanos + Math.min(nowNanos - sweptNanos, mostPerSweep);
    sweptNanos = nowNanos;
    heard = false;
    return silentNanos > timeoutNanos;
  }
}
