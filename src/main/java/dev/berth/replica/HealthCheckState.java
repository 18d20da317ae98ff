package dev.berth.replica;

import dev.berth.protocol.port.TickTimer;
import java.util.random.RandomGenerator;

/**
 * Schedule and outcome of one replica's health checks. One check runs at a time. A hanging check
 * counts as a failure at its timeout, and again after each further period. A check that passes
 * after its timeout has still failed.
 *
 * <p>Times are passed in as arguments. Thread-safe.
 *
 * <p>Source: Ray Serve's replica health check. Its period varies by up to a tenth each time, so
 * that replicas started together are not checked together.
 */
final class HealthCheckState {
  /** Action for the caller. */
  enum HealthCheckAction {
    NOTHING,
    /** Start a check, and call {@link #onFinished} at its end. */
    CHECK,
    /** Interrupt the running check, which exceeds its timeout. */
    INTERRUPT,
    /** Continue to wait for a check that exceeds its timeout. */
    WAIT_ON
  }

  private HealthCheckSettings settings;
  private final RandomGenerator random;
  private long nextAt;
  private boolean running;
  private boolean waiting; // the running check has no thread yet
  private boolean timedOut; // the running check
  private long patienceEndsAt; // deadline of the running check
  private int failuresInARow;
  private long failures;

  HealthCheckState(HealthCheckSettings settings, RandomGenerator random, long now) {
    this.settings = settings;
    this.random = random;
    this.nextAt = nextAfter(now);
  }

  /** Returns the time of the check after {@code now}: a whole second, if the variation has one. */
  private long nextAfter(long now) {
    long period = settings.periodNanos();
    long at = now + (long) (period * (0.9 + 0.2 * random.nextDouble()));
    long whole = at - Math.floorMod(at, TickTimer.IDLE_NANOS); // shares the wake-up of other ticks
    return whole - now >= period * 0.9 ? whole : at;
  }

  /**
   * Returns the action that is due. Call often compared with the timeout and the period.
   *
   * @param mayStart whether a check may start
   */
  synchronized HealthCheckAction due(boolean mayStart, long now) {
    if (!running) {
      if (!mayStart || now - nextAt < 0) {
        return HealthCheckAction.NOTHING;
      }
      start(now);
      return HealthCheckAction.CHECK;
    }
    if (waiting || now - patienceEndsAt < 0) {
      return HealthCheckAction.NOTHING;
    }
    boolean first = !timedOut;
    timedOut = true;
    fail();
    patienceEndsAt = now + settings.periodNanos();
    return first ? HealthCheckAction.INTERRUPT : HealthCheckAction.WAIT_ON;
  }

  /** Returns the time of the next action, unless a late check finishes earlier. */
  synchronized long nextLook(long now) {
    if (!running) {
      return nextAt;
    }
    if (waiting) {
      return now + settings.periodNanos(); // begun() follows once it has a thread
    }
    boolean nextIsFirst = nextAt - now > 0 && nextAt - patienceEndsAt < 0;
    return nextIsFirst ? nextAt : patienceEndsAt;
  }

  /** Returns whether a check runs or waits for its thread. */
  synchronized boolean underWay() {
    return running;
  }

  /** Records that a check starts now, due or not: the first one precedes all requests. */
  synchronized void start(long now) {
    running = true;
    waiting = true;
    timedOut = false;
    nextAt = nextAfter(now);
  }

  /** Starts the timeout of the check, which now has a thread. */
  synchronized void onBegun(long now) {
    waiting = false;
    patienceEndsAt = now + settings.timeoutNanos();
  }

  /** Changes the settings from the next check on. A shorter period applies at once. */
  synchronized void configure(HealthCheckSettings next, long now) {
    settings = next;
    long soonest = nextAfter(now);
    if (nextAt - soonest > 0) {
      nextAt = soonest;
    }
  }

  /**
   * Records the end of the running check.
   *
   * @return whether the check passed in time
   */
  synchronized boolean onFinished(boolean well, long now) {
    running = false;
    boolean passed = well && !timedOut;
    if (timedOut) {
      if (nextAt - now < 0) {
        nextAt = now; // its wait already exceeded a period
      }
    } else if (well) {
      failuresInARow = 0;
    } else {
      fail();
    }
    return passed;
  }

  /** Records that the check could not run, which leaves the outcome unknown. */
  synchronized void onSkipped() {
    running = false;
  }

  private void fail() {
    failuresInARow++;
    failures++;
  }

  /** Returns whether enough consecutive checks failed to make the replica unhealthy. */
  synchronized boolean failing() {
    return failuresInARow >= HealthCheckSettings.FAILURES;
  }

  /** Returns the number of failed checks since the start. */
  synchronized long failures() {
    return failures;
  }
}
