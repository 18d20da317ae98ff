package dev.berth.replica;

import java.util.random.RandomGenerator;

/**
 * When one replica's health is checked, and what the outcomes mean. One check is under way at a
 * time: one that hangs is not joined by another, and counts as a failure when its time is over and
 * again with each period after that. A check that answers too late has failed all the same.
 *
 * <p>Times are handed in. Any thread may call.
 *
 * <p>Source: Ray Serve's replica health check; its period is shifted by up to a tenth each time, so
 * that replicas started together are not checked together.
 */
final class HealthWatch {
  /** What is to be done now. */
  enum Act {
    NOTHING,
    /** Start a check, and tell when it is {@link #finished}. */
    CHECK,
    /** The check under way has taken too long: interrupt it. */
    INTERRUPT,
    /** It still has not answered. */
    WAIT_ON
  }

  private HealthCheckSettings settings;
  private final RandomGenerator random;
  private long nextAt;
  private boolean running;
  private boolean waiting; // the one that runs has no thread yet
  private boolean timedOut; // the one that runs
  private long patienceEndsAt; // for the one that runs
  private int failuresInARow;
  private long failures;

  HealthWatch(HealthCheckSettings settings, RandomGenerator random, long now) {
    this.settings = settings;
    this.random = random;
    this.nextAt = now + period();
  }

  private long period() {
    return (long) (settings.periodNanos() * (0.9 + 0.2 * random.nextDouble()));
  }

  /**
   * Looks at the clock; to be called often, measured by the timeout and the period.
   *
   * @param mayStart whether a check may start
   */
  synchronized Act due(boolean mayStart, long now) {
    if (!running) {
      if (!mayStart || now - nextAt < 0) {
        return Act.NOTHING;
      }
      start(now);
      return Act.CHECK;
    }
    if (waiting || now - patienceEndsAt < 0) {
      return Act.NOTHING;
    }
    boolean first = !timedOut;
    timedOut = true;
    fail();
    patienceEndsAt = now + settings.periodNanos();
    return first ? Act.INTERRUPT : Act.WAIT_ON;
  }

  /** When there is something to look at, unless a check that is too late is over before. */
  synchronized long nextLook(long now) {
    if (!running) {
      return nextAt;
    }
    if (waiting) {
      return now + settings.periodNanos(); // it says when it begins
    }
    boolean nextIsFirst = nextAt - now > 0 && nextAt - patienceEndsAt < 0;
    return nextIsFirst ? nextAt : patienceEndsAt;
  }

  /** Whether a check runs now, or waits for its thread. */
  synchronized boolean underWay() {
    return running;
  }

  /** A check starts now, whether it is time or not: the first one, before there are requests. */
  synchronized void start(long now) {
    running = true;
    waiting = true;
    timedOut = false;
    nextAt = now + period();
  }

  /** It has a thread: its time runs. */
  synchronized void begun(long now) {
    waiting = false;
    patienceEndsAt = now + settings.timeoutNanos();
  }

  /** Checks follow these from the next one on; a shorter period holds at once. */
  synchronized void configure(HealthCheckSettings next, long now) {
    settings = next;
    long soonest = now + period();
    if (nextAt - soonest > 0) {
      nextAt = soonest;
    }
  }

  /**
   * The check under way is over.
   *
   * @return whether it was well, and in time
   */
  synchronized boolean finished(boolean well, long now) {
    running = false;
    boolean passed = well && !timedOut;
    if (timedOut) {
      if (nextAt - now < 0) {
        nextAt = now; // it has been waited for long enough
      }
    } else if (well) {
      failuresInARow = 0;
    } else {
      fail();
    }
    return passed;
  }

  /** The check could not be run: nothing is known. */
  synchronized void skipped() {
    running = false;
  }

  private void fail() {
    failuresInARow++;
    failures++;
  }

  /** Whether so many failed in a row that the replica is unhealthy. */
  synchronized boolean failing() {
    return failuresInARow >= HealthCheckSettings.FAILURES;
  }

  /** Checks that failed, since the start. */
  synchronized long failures() {
    return failures;
  }
}
