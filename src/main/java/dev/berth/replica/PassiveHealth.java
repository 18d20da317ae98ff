package dev.berth.replica;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * What a replica's requests say of it, beside its health checks: one that gives nothing but
 * failures is a suspect, until it answers a request. Which requests count is {@link
 * HostedReplica}'s to say.
 *
 * <p>It looks at counters now and then, and only while there is something to see: a replica that
 * answers pays nothing for it. Any thread may say that a request failed; one looks.
 *
 * <p>Source: the outlier detection of proxies, where consecutive failures eject a host.
 */
final class PassiveHealth {
  /** So many requests that failed, with none answered between them, make a suspect. */
  static final int FAILURES_IN_A_ROW = 5;

  /** And they must have come over so long: a burst may have one cause that is over already. */
  static final long LEAST_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Between two looks. */
  static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  /** What a look found. */
  enum Verdict {
    NOTHING_NEW,
    /** Suspect; said again after each {@link #FAILURES_IN_A_ROW} more. */
    SUSPECT,
    /** It answers again. */
    CLEARED
  }

  private final AtomicBoolean looking = new AtomicBoolean();

  // The thread that looks alone.
  private long answered;
  private long failed;

  /** Requests that failed in a row, as of the last look. */
  long inARow;

  private long sinceNanos; // of the first of them
  private long told; // of them, when it was last called a suspect

  /** Whether it gave nothing but failures of late. Any thread. */
  volatile boolean suspect;

  /** A request failed; true when the replica was not being looked at, and has to be now. */
  boolean failed() {
    return !looking.get() && looking.compareAndSet(false, true);
  }

  /** Whether there is something to look at. */
  boolean isLooking() {
    return looking.get();
  }

  /**
   * Looks at the counts so far.
   *
   * @param answeredNow requests that were answered well
   * @param failedNow requests that failed
   */
  Verdict look(long answeredNow, long failedNow, long nowNanos) {
    long failures = failedNow - failed;
    boolean answers = answeredNow > answered;
    answered = Math.max(answered, answeredNow);
    failed = failedNow;
    if (answers) { // which of them came last is not known
      boolean was = suspect;
      suspect = false;
      inARow = 0;
      told = 0;
      if (failures == 0) {
        looking.set(false);
      }
      return was ? Verdict.CLEARED : Verdict.NOTHING_NEW;
    }
    if (inARow == 0 && failures > 0) {
      sinceNanos = nowNanos;
    }
    inARow += failures;
    if (failures == 0 && !suspect) {
      looking.set(false); // the next one that fails has it looked at again
      return Verdict.NOTHING_NEW;
    }
    if (inARow - told < FAILURES_IN_A_ROW || nowNanos - sinceNanos < LEAST_NANOS) {
      return Verdict.NOTHING_NEW;
    }
    told = inARow;
    sinceNanos = nowNanos;
    suspect = true;
    return Verdict.SUSPECT;
  }
}
