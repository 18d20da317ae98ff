package dev.berth.node.loops;

/**
 * State of one event loop: running or blocked. The watcher sends a beat, a task that acknowledges
 * at once, and sends the next beat only after the acknowledgement.
 *
 * <pre>
 *   RUNNING --beat unacknowledged for blockedAfter--> BLOCKED --acknowledged--> RUNNING
 * </pre>
 *
 * <p>The age of a beat grows with each observation. If the watcher itself was paused, by a garbage
 * collection for example, the pause counts as one interval and a half at most: the loop was paused,
 * too.
 *
 * <p>Confined to the watcher's loop, except {@link #answered} and {@link #isBlocked}.
 */
public final class LoopWatch {
  /** Result of an observation. */
  public enum LoopStateChange {
    NONE,
    BLOCKED,
    RUNS_AGAIN
  }

  private final long blockedAfterNanos;
  private final long longestStepNanos;
  private long beats; // number of sent beats
  private volatile long answered; // number of acknowledged beats
  private volatile long beatNanos; // time of the last beat
  private long observedNanos;
  long ageNanos; // of the unacknowledged beat
  private volatile boolean blocked;

  /**
   * @param blockedAfterNanos age of an unacknowledged beat at which the loop counts as blocked
   * @param intervalNanos time between two observations
   * @param now time on the nano clock
   */
  public LoopWatch(long blockedAfterNanos, long intervalNanos, long now) {
    this.blockedAfterNanos = blockedAfterNanos;
    this.longestStepNanos = intervalNanos + intervalNanos / 2;
    this.observedNanos = now;
    this.beatNanos = now;
  }

  /** Observes the loop: at each interval, and when a blocked loop has acknowledged. */
  public LoopStateChange observe(long now) {
    long step = Math.min(now - observedNanos, longestStepNanos);
    observedNanos = now;
    if (isAnswered()) {
      ageNanos = 0;
      if (blocked) {
        blocked = false;
        return LoopStateChange.RUNS_AGAIN;
      }
      return LoopStateChange.NONE;
    }
    ageNanos += step;
    if (!blocked && ageNanos >= blockedAfterNanos) {
      blocked = true;
      return LoopStateChange.BLOCKED;
    }
    return LoopStateChange.NONE;
  }

  /** Returns whether the loop counts as blocked. Thread-safe. */
  public boolean isBlocked() {
    return blocked;
  }

  boolean isAnswered() {
    return answered == beats;
  }

  /** Returns whether the caller must send a beat now; the beat then counts as sent. */
  public boolean beat(long now) {
    if (!isAnswered()) {
      return false;
    }
    beatNanos = now; // set before the acknowledgement is possible
    beats++;
    return true;
  }

  /**
   * Acknowledges a beat. Called on the watched loop.
   *
   * @return delay of the beat in nanoseconds
   */
  public long acknowledge(long now) {
    long lag = now - beatNanos;
    answered = answered + 1; // the only writer
    return lag;
  }

  /** Returns the time since the last beat, in ns; for a blocked loop, the duration of the block. */
  public long unansweredNanos(long now) {
    return now - beatNanos;
  }
}
