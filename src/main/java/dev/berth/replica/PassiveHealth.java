package dev.berth.replica;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Health evidence from a replica's requests, in addition to its health checks. A replica whose
 * requests all fail becomes suspected until a request succeeds. {@link LoopReplica} defines the
 * requests that count.
 *
 * <p>The counters are read periodically, and only while a failure is recent, so a successful
 * replica pays nothing. {@link #failed} is thread-safe; one thread reads the counters.
 *
 * <p>Source: the outlier detection of proxies, where consecutive failures eject a host.
 */
final class PassiveHealth {
  /** Consecutive failed requests, with no success between them, that make a replica suspected. */
  static final int FAILURES_IN_A_ROW = 5;

  /**
   * Minimum period of these failures in nanoseconds: a burst may have one cause that has already
   * passed.
   */
  static final long MIN_FAILING_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Interval between two readings of the counters, in nanoseconds. */
  static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  /** Result of a reading. */
  enum PassiveHealthVerdict {
    NOTHING_NEW,
    /**
     * The replica is suspected; repeated after each {@link #FAILURES_IN_A_ROW} further failures.
     */
    SUSPECT,
    /** A request of a suspected replica succeeded. */
    CLEARED
  }

  final AtomicBoolean looking = new AtomicBoolean(); // whether readings are needed

  // Confined to the reading thread.
  private long answered;
  private long failed;

  /** Number of consecutive failed requests as of the last reading. */
  long inARow;

  private long sinceNanos; // time of the first of them
  private long told; // of them, at the last SUSPECT

  /** Suspicion from recent requests, which all failed. Thread-safe. */
  volatile boolean suspect;

  /** Records a failed request. Returns true when the caller must start the readings. */
  boolean onRequestFailed() {
    return !looking.get() && looking.compareAndSet(false, true);
  }

  /**
   * Compares the counts with those of the last reading.
   *
   * @param answeredNow number of successful requests
   * @param failedNow number of failed requests
   */
  PassiveHealthVerdict look(long answeredNow, long failedNow, long nowNanos) {
    long failures = failedNow - failed;
    boolean answers = answeredNow > answered;
    answered = Math.max(answered, answeredNow);
    failed = failedNow;
    if (answers) { // their order is unknown
      boolean was = suspect;
      suspect = false;
      inARow = 0;
      told = 0;
      if (failures == 0) {
        looking.set(false);
      }
      return was ? PassiveHealthVerdict.CLEARED : PassiveHealthVerdict.NOTHING_NEW;
    }
    if (inARow == 0 && failures > 0) {
      sinceNanos = nowNanos;
    }
    inARow += failures;
    if (failures == 0 && !suspect) {
      looking.set(false); // the next failure starts the readings again
      return PassiveHealthVerdict.NOTHING_NEW;
    }
    if (inARow - told < FAILURES_IN_A_ROW || nowNanos - sinceNanos < MIN_FAILING_NANOS) {
      return PassiveHealthVerdict.NOTHING_NEW;
    }
    told = inARow;
    sinceNanos = nowNanos;
    suspect = true;
    return PassiveHealthVerdict.SUSPECT;
  }
}
