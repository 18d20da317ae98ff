package dev.berth.replica.log;

import dev.berth.api.DeploymentId;
import dev.berth.api.RequestContext;
import dev.berth.protocol.UserFailure;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * Thread-safe log of the failures of one replica's user code, with stack and request. Failures of
 * one class and place are logged at a limited rate, so that a broken handler under load does not
 * fill a disk. The next line reports how many were suppressed.
 */
public final class FailureLog {
  private static final Logger LOG = LoggerFactory.getLogger(FailureLog.class);

  /** Maximum of classes with a count of their own; failures of further classes count as "other". */
  public static final int MAX_CLASSES = 32;

  /** Burst of stacks that are logged per class and place. */
  static final int AT_ONCE = 5;

  /** Interval at which one more stack is logged after the burst, in nanoseconds. */
  static final long THEN_EVERY_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** Maximum of places, of all classes; all further places share one more. */
  private static final int MAX_PLACES = 128;

  // A place is read from a stack trace, which costs as much as many requests. So the places of one
  // class are read at a limited rate too: a burst, then one per interval.
  private static final int LOOKS_AT_ONCE = 100;
  private static final long THEN_LOOK_EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Origin of failures of one class; {@code top} is null for failures without a stack. */
  private record FailureOrigin(String type, @Nullable StackTraceElement top) {
    static final FailureOrigin OTHER = new FailureOrigin("other", null);
  }

  private final Map<String, LogRateLimiter> looks = new ConcurrentHashMap<>(); // by class
  private final Map<FailureOrigin, LogRateLimiter> lines = new ConcurrentHashMap<>();
  public final FailureCounts counts = new FailureCounts(MAX_CLASSES);

  /** Failures that were not logged. */
  public final LongAdder unlogged = new LongAdder();

  private final DeploymentId deployment;
  private final String replicaId;
  private final LongSupplier nanoClock;

  /**
   * @param nanoClock monotonic nanoseconds
   */
  public FailureLog(DeploymentId deployment, String replicaId, LongSupplier nanoClock) {
    this.deployment = deployment;
    this.replicaId = replicaId;
    this.nanoClock = nanoClock;
  }

  /** Logs the failure of a hook. */
  public void add(String what, Throwable cause) {
    add(what, cause, null);
  }

  /**
   * Logs a failure.
   *
   * @param request the request that failed; null for none
   */
  public void add(String what, Throwable cause, @Nullable RequestContext request) {
    long suppressed = suppressedBefore(cause, counts.add(cause));
    if (suppressed < 0) {
      unlogged.increment();
      return;
    }
    LoggingEventBuilder line = LOG.atWarn();
    if (request == null) {
      RequestLogFields.of(deployment, replicaId, line::addKeyValue);
    } else {
      RequestLogFields.of(request, line::addKeyValue);
    }
    line.setCause(UserFailure.legible(cause));
    if (suppressed == 0) {
      line.log(what);
    } else {
      line.addKeyValue("suppressed", suppressed)
          .log("{}; {} more since it was last logged", what, suppressed);
    }
  }

  /**
   * Returns the number of equal failures suppressed since the last logged one; negative when this
   * failure is suppressed.
   */
  private long suppressedBefore(Throwable cause, String type) {
    long now = nanoClock.getAsLong();
    long unseen =
        looks
            .computeIfAbsent(
                type, any -> new LogRateLimiter(LOOKS_AT_ONCE, THEN_LOOK_EVERY_NANOS, now))
            .take(now, 0);
    if (unseen < 0) {
      return unseen;
    }
    StackTraceElement[] stack = UserFailure.legible(cause).getStackTrace();
    FailureOrigin place = new FailureOrigin(type, stack.length == 0 ? null : stack[0]);
    if (lines.size() >= MAX_PLACES && !lines.containsKey(place)) {
      place = FailureOrigin.OTHER;
    }
    return lines
        .computeIfAbsent(place, any -> new LogRateLimiter(AT_ONCE, THEN_EVERY_NANOS, now))
        .take(now, unseen);
  }

  /** Token bucket: a burst, then one permit per interval. Counts the refused calls. */
  private static final class LogRateLimiter {
    private final int most;
    private final long everyNanos;
    private long left;
    private long sinceNanos; // permits of the time after this are not in left
    private long suppressed;

    LogRateLimiter(int most, long everyNanos, long now) {
      this.most = most;
      this.everyNanos = everyNanos;
      this.left = most;
      this.sinceNanos = now;
    }

    /**
     * Takes a permit.
     *
     * @param more failures suppressed before this call, to add to the count
     * @return failures suppressed since the last permit; negative when this one is suppressed
     */
    synchronized long take(long now, long more) {
      long came = (now - sinceNanos) / everyNanos;
      sinceNanos += came * everyNanos;
      left = Math.min(most, left + came);
      suppressed += more;
      if (left == 0) {
        suppressed++;
        return -1;
      }
      left--;
      long told = suppressed;
      suppressed = 0;
      return told;
    }
  }
}
