package dev.berth.node.loops;

/**
 * Whether one event loop takes tasks: it is sent a beat, a task that answers at once, and the next
 * one only when that was answered.
 *
 * <pre>
 *   RUNNING --a beat unanswered for blockedAfter--> BLOCKED --it is answered--> RUNNING
 * </pre>
 *
 * Its age is counted as its watcher saw it pass: of a time in which the watcher itself stood still,
 * a collection of garbage say, only an interval counts, because the loop stood still with it.
 *
 * <p>Belongs to the watcher's loop, but for {@link #answered} and {@link #isBlocked}.
 */
public final class LoopWatch {
  /** What an observation found. */
  public enum Change {
    NONE,
    BLOCKED,
    RUNS_AGAIN
  }

  private final long blockedAfterNanos;
  private final long longestStepNanos;
  private long beats; // sent
  private volatile long answered; // of them
  private volatile long beatNanos; // when the last one was sent
  private long observedNanos;
  private long ageNanos; // of the beat that is not answered
  private volatile boolean blocked;

  /**
   * @param blockedAfterNanos age of an unanswered beat at which the loop counts as blocked
   * @param intervalNanos between two observations
   * @param now of the nano clock
   */
  public LoopWatch(long blockedAfterNanos, long intervalNanos, long now) {
    this.blockedAfterNanos = blockedAfterNanos;
    this.longestStepNanos = intervalNanos + intervalNanos / 2;
    this.observedNanos = now;
    this.beatNanos = now;
  }

  /** Looks at the loop: at each interval, and when it has answered while it counted as blocked. */
  public Change observe(long now) {
    long step = Math.min(now - observedNanos, longestStepNanos);
    observedNanos = now;
    if (isAnswered()) {
      ageNanos = 0;
      if (blocked) {
        blocked = false;
        return Change.RUNS_AGAIN;
      }
      return Change.NONE;
    }
    ageNanos += step;
    if (!blocked && ageNanos >= blockedAfterNanos) {
      blocked = true;
      return Change.BLOCKED;
    }
    return Change.NONE;
  }

  /** Whether it counts as blocked. Any thread. */
  public boolean isBlocked() {
    return blocked;
  }

  boolean isAnswered() {
    return answered == beats;
  }

  /** Whether a beat is to be sent now, which then counts as sent. */
  public boolean beat(long now) {
    if (!isAnswered()) {
      return false;
    }
    beatNanos = now; // before the beat can be answered
    beats++;
    return true;
  }

  /**
   * The beat runs. On the watched loop.
   *
   * @return how late it is, in nanoseconds
   */
  public long answered(long now) {
    long lag = now - beatNanos;
    answered = answered + 1; // no one else writes it
    return lag;
  }

  /** How long its beat has not been answered, as of the last observation: without own pauses. */
  long ageNanos() {
    return ageNanos;
  }

  /**
   * How long ago the last beat was sent; of a loop that is blocked, for how long it has been so.
   */
  public long unansweredNanos(long now) {
    return now - beatNanos;
  }
}
