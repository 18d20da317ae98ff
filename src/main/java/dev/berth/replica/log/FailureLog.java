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
 * The failures of one replica's user code, with their stacks and whose they are. Of those of one
 * class from one place some are logged and then one at a time, with how many were not, so that a
 * broken handler under load does not fill a disk. Any thread.
 */
public final class FailureLog {
  private static final Logger LOG = LoggerFactory.getLogger(FailureLog.class);

  /** Classes told apart; what comes beyond counts as "other". */
  public static final int MAX_CLASSES = 32;

  /** Stacks of one class and place that are logged at once. */
  static final int AT_ONCE = 5;

  /** And then one in so long. */
  static final long THEN_EVERY_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** Places told apart, of all classes; what comes beyond is one more. */
  private static final int MAX_PLACES = 128;

  // To see its place a stack must be made, which costs as much as many a request: of one class
  // so many are looked at, and then one in so long.
  private static final int LOOKS_AT_ONCE = 100;
  private static final long THEN_LOOK_EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** Where failures of one class come from; no frame for those that have no stack. */
  private record Place(String type, @Nullable StackTraceElement top) {
    static final Place OTHER = new Place("other", null);
  }

  private final Map<String, Allowance> looks = new ConcurrentHashMap<>(); // by class
  private final Map<Place, Allowance> lines = new ConcurrentHashMap<>();
  private final FailureCounts counts = new FailureCounts(MAX_CLASSES);
  private final LongAdder unlogged = new LongAdder();
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

  /** Of a hook. */
  public void add(String what, Throwable cause) {
    add(what, cause, null);
  }

  /**
   * @param request that it is a failure of; null for none
   */
  public void add(String what, Throwable cause, @Nullable RequestContext request) {
    long suppressed = suppressedBefore(cause, counts.add(cause));
    if (suppressed < 0) {
      unlogged.increment();
      return;
    }
    LoggingEventBuilder line = LOG.atWarn();
    if (request == null) {
      WorkFields.of(deployment, replicaId, line::addKeyValue);
    } else {
      WorkFields.of(request, line::addKeyValue);
    }
    line.setCause(UserFailure.legible(cause));
    if (suppressed == 0) {
      line.log(what);
    } else {
      line.addKeyValue("suppressed", suppressed)
          .log("{}; since it was last logged {} times more", what, suppressed);
    }
  }

  /** How many like it were not logged since the last that was; negative when this one is not. */
  private long suppressedBefore(Throwable cause, String type) {
    long now = nanoClock.getAsLong();
    long unseen =
        looks
            .computeIfAbsent(type, any -> new Allowance(LOOKS_AT_ONCE, THEN_LOOK_EVERY_NANOS, now))
            .take(now, 0);
    if (unseen < 0) {
      return unseen;
    }
    StackTraceElement[] stack = UserFailure.legible(cause).getStackTrace();
    Place place = new Place(type, stack.length == 0 ? null : stack[0]);
    if (lines.size() >= MAX_PLACES && !lines.containsKey(place)) {
      place = Place.OTHER;
    }
    return lines
        .computeIfAbsent(place, any -> new Allowance(AT_ONCE, THEN_EVERY_NANOS, now))
        .take(now, unseen);
  }

  /** How often each class of failure came, by name. */
  public Map<String, Long> counts() {
    return counts.sums();
  }

  /** Failures that were not logged. */
  public long unlogged() {
    return unlogged.sum();
  }

  /** So many at once, and then one in so long; what is beyond is counted. */
  private static final class Allowance {
    private final int most;
    private final long everyNanos;
    private long left;
    private long sinceNanos; // what came since then is not in what is left
    private long suppressed;

    Allowance(int most, long everyNanos, long now) {
      this.most = most;
      this.everyNanos = everyNanos;
      this.left = most;
      this.sinceNanos = now;
    }

    /**
     * @param more to be told with it that were suppressed before they came here
     * @return how many were since the last one; negative when this one is
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
