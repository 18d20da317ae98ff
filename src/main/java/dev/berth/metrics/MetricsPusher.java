package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides what one instance tells the controller of its handles, and when: one batch per push
 * interval, whatever the number of handles, loops and applications.
 *
 * <pre>
 *   due --batched--> in flight --acknowledged--> told
 *                    in flight --failed, or its mark expired--> due
 * </pre>
 *
 * A handle is due when it is not zero, or when it differs from what the controller last
 * acknowledged; a handle whose last source left is due with zeros until that is acknowledged, and
 * then forgotten. A handle whose source cannot be read is not reported at all: unknown is not zero.
 * A batch goes out even when no handle is due, since it says that the instance lives.
 *
 * <p>{@link #register} may be called from any thread; everything else belongs to the control event
 * loop.
 *
 * <p>Source: Ray #55016 SharedHandleMetricsPusher. Its review found the two defects this avoids: a
 * set changed while it was walked, and state read on a loop that did not own it.
 */
public final class MetricsPusher {
  /** Bound of a batch's reports in their wire form, in bytes: one inline message. */
  public static final int DEFAULT_MAX_REPORT_BYTES = 64 << 10;

  /**
   * How often a handle that is idle is read whole, in samples: two readings in a row found it idle,
   * and a third finds whoever stood between the count and the gauge of a request for so long.
   */
  static final int IDLE_SAMPLES_PER_READING = 10;

  /** Counts, average and lengths of a report, generously. */
  private static final int FIXED_REPORT_BYTES = 48;

  /** A char of a Java string is at most three bytes of UTF-8. */
  private static final int MAX_BYTES_PER_CHAR = 3;

  private static final long MIN_IN_FLIGHT_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final String node;
  private final long incarnation;
  private final LongSupplier nanoClock;
  private final long pushNanos;
  private final long inFlightLimitNanos; // an unanswered batch holds up the next one for so long
  private final int maxReportBytes;

  private final ConcurrentHashMap<DeploymentId, Handle> handles = new ConcurrentHashMap<>();

  // Control loop only, but for the counters, which scrapes read.
  private final ArrayDeque<Handle> due = new ArrayDeque<>(); // first in, first told
  private final List<Handle> inFlight = new ArrayList<>();
  private boolean pushing;
  private long pushedAtNanos;
  private long nextPushNanos;
  private long sequence;
  private volatile long batches;
  private volatile long skipped;
  private volatile long failed;
  private volatile long expired;
  private volatile long unreadable;

  /**
   * @param node the instance's name, as the controller knows it
   * @param incarnation which start of it
   * @param pushInterval between two batches
   * @param maxReportBytes bound of a batch's reports in their wire form; one report always fits
   */
  public MetricsPusher(
      String node,
      long incarnation,
      Duration pushInterval,
      int maxReportBytes,
      LongSupplier nanoClock) {
    this.node = node;
    this.incarnation = incarnation;
    this.nanoClock = nanoClock;
    this.pushNanos = pushInterval.toNanos();
    this.inFlightLimitNanos = Math.max(MIN_IN_FLIGHT_NANOS, 2 * pushNanos);
    this.maxReportBytes = maxReportBytes;
    this.nextPushNanos = nanoClock.getAsLong() + pushNanos;
  }

  /**
   * Adds a source. Several of one deployment are reported as their sum. Closing the registration
   * takes it away; after the last one of a deployment a final zero is reported.
   */
  public Registration register(HandleMetricSource source) {
    handles.compute(
        source.deployment(),
        (deployment, handle) -> {
          Handle known = handle == null ? new Handle(deployment) : handle;
          known.add(source);
          return known;
        });
    AtomicBoolean open = new AtomicBoolean(true);
    return () -> {
      if (open.compareAndSet(true, false)) {
        handles.computeIfPresent(
            source.deployment(),
            (deployment, handle) -> {
              handle.remove(source);
              return handle;
            });
      }
    };
  }

  /**
   * Samples every source; at the end of a push interval also makes the batch to send, whose outcome
   * the caller then reports by {@link #settled}.
   *
   * @return null when it is not time yet, or while a batch is in flight
   */
  public @Nullable HandleMetricBatch tick() {
    long now = nanoClock.getAsLong();
    handles.forEach((deployment, handle) -> sample(handle));
    if (now - nextPushNanos < 0) {
      return null;
    }
    // From now on, not from when it was due: a blocked loop is not made up for by a burst.
    nextPushNanos = now + pushNanos;
    if (pushing && now - pushedAtNanos < inFlightLimitNanos) {
      skipped++;
      return null;
    }
    if (pushing) {
      expired++;
      giveUp();
    }
    return batch(now);
  }

  /** A last batch, whatever the time and whatever is in flight: for the end of the instance. */
  public HandleMetricBatch lastBatch() {
    giveUp();
    return batch(nanoClock.getAsLong());
  }

  /**
   * How the push of a batch ended. An answer to a batch that was given up changes nothing.
   *
   * @param batchSequence the batch's
   * @param acknowledged whether the controller has it
   */
  public void settled(long batchSequence, boolean acknowledged) {
    if (!pushing || batchSequence != sequence) {
      return;
    }
    if (!acknowledged) {
      failed++;
      giveUp();
      return;
    }
    pushing = false;
    for (Handle handle : inFlight) {
      handle.told();
      // Atomic with register: a deployment that came back in between stays.
      handles.computeIfPresent(
          handle.deployment, (deployment, known) -> known.isForgettable() ? null : known);
    }
    inFlight.clear();
  }

  /** Batches made. */
  public long batches() {
    return batches;
  }

  /** Push intervals passed over because a batch was in flight. */
  public long skipped() {
    return skipped;
  }

  /** Batches the controller did not take. */
  public long failed() {
    return failed;
  }

  /** Batches given up unanswered. */
  public long expired() {
    return expired;
  }

  /** Reads of a source that threw. */
  public long unreadable() {
    return unreadable;
  }

  /** Deployments known, those with only a final zero left included. */
  public int handles() {
    return handles.size();
  }

  /** The most a report takes in its wire form. */
  static int reportBytes(DeploymentId deployment) {
    int chars = deployment.application().length() + deployment.name().length();
    return FIXED_REPORT_BYTES + MAX_BYTES_PER_CHAR * chars;
  }

  private void sample(Handle handle) {
    try {
      handle.sample();
    } catch (RuntimeException broken) {
      // One broken source must not silence the others.
      handle.readable = false;
      unreadable++;
    }
  }

  private void giveUp() {
    pushing = false;
    inFlight.clear(); // still unacknowledged, so due again
  }

  private HandleMetricBatch batch(long now) {
    handles.forEach(
        (deployment, handle) -> {
          if (!handle.waiting && handle.isDue()) {
            handle.waiting = true;
            due.add(handle);
          }
        });
    List<HandleMetricReport> reports = new ArrayList<>();
    int bytes = 0;
    while (!due.isEmpty()) {
      Handle handle = due.peek();
      if (!reports.isEmpty() && bytes + handle.reportBytes > maxReportBytes) {
        break; // it stays at the head: first next time
      }
      due.remove();
      handle.waiting = false;
      if (handle.isDue()) {
        bytes += handle.reportBytes;
        reports.add(handle.report());
        inFlight.add(handle);
      }
    }
    pushing = true;
    pushedAtNanos = now;
    batches++;
    return new HandleMetricBatch(node, incarnation, ++sequence, reports);
  }

  /** One deployment's sources and what is known of them. */
  private static final class Handle {
    final DeploymentId deployment;
    final int reportBytes;

    // Changed under the map's lock on this key, read anywhere.
    private volatile Sources sources = Sources.NONE;

    // Control loop only.
    boolean waiting;
    boolean readable;
    private int queued;
    private int running;
    private int reserved;
    private long requests;
    private long loadSum;
    private long samples;
    private long reportedLoadSum;
    private long reportedSamples;
    private boolean reportedFinal;
    private boolean toldFinal;
    private @Nullable HandleMetricReport reported;
    private @Nullable HandleMetricReport told;
    private @Nullable HandleMetricSource idle; // the only source, when nothing is under way there
    private Sources idleOf = Sources.NONE; // that were read
    private long idleBegun = -1; // when all was 0 at the last reading
    private int idleSamples;

    Handle(DeploymentId deployment) {
      this.deployment = deployment;
      this.reportBytes = MetricsPusher.reportBytes(deployment);
    }

    void add(HandleMetricSource source) {
      sources = sources.with(source);
    }

    void remove(HandleMetricSource source) {
      sources = sources.without(source);
    }

    void sample() {
      Sources now = sources;
      HandleMetricSource only = idle;
      if (only != null
          && idleOf == now
          && ++idleSamples % IDLE_SAMPLES_PER_READING != 0
          && only.begun() == idleBegun) {
        samples++; // of zeros
        readable = true;
      } else {
        read(now);
      }
    }

    private void read(Sources now) {
      idle = null;
      long begunNow = now.live.length == 1 ? now.live[0].begun() : -1; // before the gauges
      int queuedNow = 0;
      int runningNow = 0;
      int reservedNow = 0;
      long requestsNow = now.retiredRequests;
      for (HandleMetricSource source : now.live) {
        queuedNow += Math.max(0, source.queued());
        runningNow += Math.max(0, source.running());
        reservedNow += Math.max(0, source.reserved());
        requestsNow += source.requests();
      }
      queued = queuedNow;
      running = runningNow;
      reserved = reservedNow;
      requests = requestsNow;
      if (now.live.length == 0) {
        // Gone: what its samples came to no longer matters.
        loadSum = 0;
        samples = 0;
      } else {
        loadSum += (long) queuedNow + runningNow + reservedNow;
        samples++;
      }
      readable = true;
      boolean zero = begunNow >= 0 && queuedNow + runningNow + reservedNow == 0;
      idle = zero && idleOf == now && idleBegun == begunNow ? now.live[0] : null;
      idleOf = now;
      idleBegun = zero ? begunNow : -1;
    }

    boolean isDue() {
      if (!readable) {
        return false;
      }
      if (told == null || isGone() || queued + running + reserved != 0 || loadSum != 0) {
        return true;
      }
      return !told.isZero() || told.requests() != requests;
    }

    HandleMetricReport report() {
      Sources now = sources;
      reportedFinal = now.live.length == 0;
      reportedLoadSum = loadSum;
      reportedSamples = samples;
      double averageLoad =
          samples == 0 ? (double) queued + running + reserved : (double) loadSum / samples;
      HandleMetricReport report =
          reportedFinal
              ? HandleMetricReport.finalZero(deployment, now.retiredRequests)
              : new HandleMetricReport(
                  deployment, queued, running, reserved, averageLoad, requests);
      reported = report;
      return report;
    }

    /** The controller has the report: only the samples since then are still to be told. */
    void told() {
      told = reported;
      toldFinal = reportedFinal;
      loadSum -= Math.min(loadSum, reportedLoadSum);
      samples -= Math.min(samples, reportedSamples);
    }

    /** Whether it left, and the controller knows that and everything it counted. */
    boolean isForgettable() {
      Sources now = sources;
      return now.live.length == 0
          && toldFinal
          && told != null
          && told.requests() == now.retiredRequests;
    }

    private boolean isGone() {
      return sources.live.length == 0;
    }
  }

  /** The sources of a deployment, replaced whole, and what those that left had counted. */
  private static final class Sources {
    static final Sources NONE = new Sources(new HandleMetricSource[0], 0);

    final HandleMetricSource[] live;
    final long retiredRequests;

    Sources(HandleMetricSource[] live, long retiredRequests) {
      this.live = live;
      this.retiredRequests = retiredRequests;
    }

    Sources with(HandleMetricSource source) {
      HandleMetricSource[] more = Arrays.copyOf(live, live.length + 1);
      more[live.length] = source;
      return new Sources(more, retiredRequests);
    }

    Sources without(HandleMetricSource source) {
      List<HandleMetricSource> rest = new ArrayList<>(Arrays.asList(live));
      rest.removeIf(each -> each == source);
      return new Sources(rest.toArray(HandleMetricSource[]::new), retiredRequests + count(source));
    }

    private static long count(HandleMetricSource source) {
      try {
        return source.requests();
      } catch (RuntimeException broken) {
        return 0; // it leaves all the same; only its count is lost
      }
    }
  }
}
