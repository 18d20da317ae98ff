package dev.berth.cluster.link;

/**
 * The silence of a peer, measured by the running time of its observer. Each sweep without a message
 * adds the time since the previous sweep, at most two intervals. A pause of the observer therefore
 * adds at most one interval more than an undisturbed sweep, and an observer that is always slow
 * still reaches the timeout. Sweep after the loop has read its sockets ({@link LinkSweep}). Not
 * thread-safe.
 */
public final class HeartbeatMonitor {
  private final long mostPerSweep; // in nanoseconds
  private final long timeoutNanos;
  private boolean heard; // since the last sweep
  private long silentNanos;
  private long sweptNanos;

  /**
   * Starts a measurement.
   *
   * @param intervalNanos interval between sweeps, and between heartbeats
   * @param nowNanos current time of the observer's clock
   */
  public HeartbeatMonitor(long intervalNanos, long timeoutNanos, long nowNanos) {
    this.mostPerSweep = 2 * intervalNanos;
    this.timeoutNanos = timeoutNanos;
    this.sweptNanos = nowNanos;
  }

  /** Records a received message. */
  public void recordContact() {
    heard = true;
  }

  /** Adds a sweep. Returns whether the peer is suspected now. */
  public boolean sweep(long nowNanos) {
    silentNanos = heard ? 0 : silentNanos + Math.min(nowNanos - sweptNanos, mostPerSweep);
    sweptNanos = nowNanos;
    heard = false;
    return silentNanos > timeoutNanos;
  }
}
