package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.BusMessage.QueueLength;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.NodeFigures;
import dev.berth.protocol.port.TickTimer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Builds the reports of one instance's handles and replicas for the controller: one batch per push
 * interval, regardless of the number of handles, loops and applications.
 *
 * <pre>
 *   due --batched--> in flight --acknowledged--> told
 *                    in flight --failed, or timed out--> due
 *   told --acknowledged by a controller of another term--> due
 * </pre>
 *
 * <p><b>Contents.</b> A handle whose deployment autoscales is due when it is not zero, or differs
 * from the last acknowledged report. When autoscaling ends, or its last source is removed, it is
 * due with zeros until these are acknowledged. Other deployments report only a queue length that is
 * not zero. A handle whose source is unreadable is not reported, since unknown is not zero. A batch
 * without due handles is a sign of life: it is sent in each push interval while a deployment
 * autoscales, and else within {@link #LIFE_NANOS}. Reports of the local replicas are part of the
 * first batch after their own push interval.
 *
 * <p><b>Concurrency.</b> {@link #register}, {@link #registerReplica} and {@link #signal} are
 * thread-safe. All other methods are confined to the control loop.
 *
 * <p>Source: Ray #55016 SharedHandleMetricsPusher. Its review found two defects that this class
 * avoids: a set modified during iteration, and state read on a loop that did not own it.
 */
public final class MetricsPusher {
  /**
   * Maximum bytes of a batch's reports in wire form: one message, less space for its other parts.
   * Enough for over 10 000 reports with names of 30 characters.
   */
  public static final int DEFAULT_MAX_REPORT_BYTES = 960 << 10;

  private static final long MIN_IN_FLIGHT_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** Maximum time between two batches: half of the controller's limit of an instance's silence. */
  static final long LIFE_NANOS = TimeUnit.SECONDS.toNanos(5);

  /**
   * Intervals of samples and reports.
   *
   * @param record between two samples
   * @param push between two batches
   */
  public record ReportIntervals(Duration record, Duration push) {}

  private final String node;
  private final long incarnation;
  private final LongSupplier nanoClock;
  private final ReportIntervals rhythm;
  private final ReportIntervals replicaRhythm;
  private final long inFlightLimitNanos; // maximum time that a batch in flight delays the next
  private final int maxReportBytes;
  private final ReportQueue handles = new ReportQueue();
  private final ReportQueue replicas = new ReportQueue();
  private final List<ReportQueue> queues = List.of(handles, replicas);
  private final AtomicBoolean woken = new AtomicBoolean();
  private volatile Runnable wake = () -> {};

  private @Nullable FigureSampler figures; // null without a history

  // Confined to the control loop, except the counters, which scrapes read.
  private boolean pushing;
  private boolean retrying; // the last push failed: signals wait for the next interval
  private long pushedAtNanos;
  private long nextPushNanos;
  private long nextReplicasNanos;
  private long nextSignalNanos;
  private long sequence;
  private long term = -1; // of the controller that acknowledged the last batch
  private volatile long batches;
  private volatile long signalled;
  volatile long skipped; // push intervals skipped because a batch was in flight
  private volatile long failed;
  volatile long expired; // batches without an acknowledgement in time

  /**
   * @param node name of the instance, as known to the controller
   * @param incarnation of the instance's start
   * @param maxReportBytes maximum bytes of a batch's reports in wire form; a single report may
   *     exceed it
   */
  public MetricsPusher(
      String node,
      long incarnation,
      ReportIntervals handles,
      ReportIntervals replicas,
      int maxReportBytes,
      LongSupplier nanoClock) {
    this.node = node;
    this.incarnation = incarnation;
    this.nanoClock = nanoClock;
    this.rhythm = handles;
    this.replicaRhythm = replicas;
    this.inFlightLimitNanos = Math.max(MIN_IN_FLIGHT_NANOS, 2 * handles.push.toNanos());
    this.maxReportBytes = maxReportBytes;
    long now = nanoClock.getAsLong();
    this.nextPushNanos = now + handles.push.toNanos();
    this.nextReplicasNanos = now + replicas.push.toNanos();
    this.nextSignalNanos = now;
  }

  /**
   * Adds a handle. Handles of one deployment are reported as their sum. Closing the registration
   * removes the handle; after the last one of a deployment, a final zero is reported.
   */
  public MeterRegistration register(HandleMetricSource handle) {
    return handles.register(handle);
  }

  /** Adds a replica of this instance, as {@link #register} does for handles. */
  public MeterRegistration registerReplica(HandleMetricSource replica) {
    return replicas.register(replica);
  }

  /**
   * Notifies the controller of a request that waits for a deployment without replicas. A batch is
   * sent at once, or when the batch in flight is settled. Each deployment signals once per push
   * interval, since the controller then knows; signalled batches are at least one record interval
   * apart. Thread-safe.
   */
  public void signal(DeploymentId deployment) {
    if (handles.signal(deployment) && woken.compareAndSet(false, true)) {
      wake.run();
    }
  }

  /**
   * Sets the task that schedules {@link #signalBatch} on the control loop. It may run on any
   * thread.
   */
  public void onSignal(Runnable soon) {
    wake = soon;
  }

  /** Adds figures for the history of operators to the batches, from these meters. */
  public void addFigures(Meters meters) {
    figures = new FigureSampler(meters, nanoClock.getAsLong());
  }

  /** Returns the intervals of the handles. */
  public ReportIntervals rhythm() {
    return rhythm;
  }

  /** Returns the intervals of the replicas. */
  public ReportIntervals replicaRhythm() {
    return replicaRhythm;
  }

  /** Samples the replicas. */
  public void sampleReplicas() {
    replicas.sample();
  }

  /**
   * Samples all handles. At the end of a push interval, also returns the batch to send; the caller
   * reports its outcome to {@link #onSettled}.
   *
   * @return null before the end of the interval, or while a batch is in flight
   */
  public @Nullable HandleMetricBatch tick() {
    long now = nanoClock.getAsLong();
    boolean over = isOver(nextPushNanos, now);
    if (over) {
      // Counts from now, not from the due time: a blocked loop does not cause a burst.
      nextPushNanos = now + rhythm.push.toNanos();
      boolean waits = pushing && now - pushedAtNanos < inFlightLimitNanos;
      skipped += waits ? 1 : 0;
      if (!waits) {
        expired += pushing ? 1 : 0;
        boolean owed = needsBatch(now);
        collect(true);
        boolean hasFigures = figures != null && figures.read(now, queues);
        if (!owed && !hasFigures && !handles.isDue()) {
          return null;
        }
        retrying = false;
        return batch(now, isOver(nextReplicasNanos, now));
      }
    }
    handles.sample();
    return signalBatch();
  }

  /** Returns whether the controller expects a batch now, even without due reports. */
  private boolean needsBatch(long now) {
    return term < 0
        || pushing
        || retrying
        || isSampled()
        || isOver(pushedAtNanos + LIFE_NANOS, now);
  }

  /**
   * Returns an extra batch if a deployment signalled; else null. The caller reports as for {@link
   * #tick}.
   */
  public @Nullable HandleMetricBatch signalBatch() {
    long now = nanoClock.getAsLong();
    if (!woken.get() || pushing || retrying || !isOver(nextSignalNanos, now)) {
      return null; // settled() or the next tick checks again
    }
    nextSignalNanos = now + rhythm.record.toNanos();
    signalled++;
    collect(false);
    return batch(now, false);
  }

  /**
   * Returns the final batch at the end of the instance, regardless of time and of a batch in
   * flight.
   */
  public HandleMetricBatch lastBatch() {
    collect(true);
    return batch(nanoClock.getAsLong(), true);
  }

  /**
   * Records the outcome of a batch. A late reply to an expired batch has no effect.
   *
   * @param batchSequence sequence of the batch
   * @param answeredBy term of the controller that has the batch; negative if this is not certain
   * @return whether the controller is a new one, which needs all reports soon
   */
  public boolean onSettled(long batchSequence, long answeredBy) {
    if (!pushing || batchSequence != sequence) {
      return false;
    }
    retrying = answeredBy < 0;
    if (retrying) {
      failed++;
      giveUp();
      return false;
    }
    pushing = false;
    boolean replaced = term >= 0 && answeredBy != term;
    if (replaced) {
      nextPushNanos = nanoClock.getAsLong();
    }
    if (answeredBy != term) {
      term = answeredBy;
      queues.forEach(ReportQueue::forgetAcknowledgements);
      if (figures != null) {
        figures.onLost();
      }
    }
    queues.forEach(ReportQueue::onAcknowledged);
    return replaced;
  }

  /**
   * Returns the nanoseconds until the next sample, batch or signal; 0 for a record interval.
   * Without samples, batches share the wake-ups of an idle loop.
   */
  public long untilNext() {
    if (woken.get() || isSampled()) {
      return 0;
    }
    long shared = Math.min(rhythm.push.toNanos(), TickTimer.IDLE_NANOS);
    return Math.max(shared, nextPushNanos - nanoClock.getAsLong());
  }

  private boolean isSampled() {
    return handles.isSampled() || replicas.isSampled();
  }

  /** Adds the metrics of batches and their outcomes. */
  public void show(MetricSeries into) {
    into.counter("berth_metrics_batches", batches);
    into.counter("berth_metrics_signals", signalled);
    into.counter("berth_metrics_pushes_skipped", skipped);
    into.counter("berth_metrics_pushes_failed", (double) failed + expired);
    into.counter("berth_metrics_unreadable_samples", unreadable());
    into.gauge("berth_metrics_handles", handles());
  }

  /** Returns the number of batches. */
  public long batches() {
    return batches;
  }

  /** Returns the number of batches caused by signals. */
  public long signalled() {
    return signalled;
  }

  /** Returns the number of batches that the controller did not acknowledge. */
  public long failedCount() {
    return failed;
  }

  /** Returns the number of source reads that threw. */
  long unreadable() {
    return handles.unreadable() + replicas.unreadable();
  }

  /** Returns the number of called deployments, including those with only a final zero left. */
  public int handles() {
    return handles.size();
  }

  /** Returns whether an interval has ended. A timer that fires slightly early counts as on time. */
  private boolean isOver(long intervalEnd, long now) {
    return now - intervalEnd >= -rhythm.record.toNanos() / 4;
  }

  private void giveUp() {
    if (pushing && figures != null) {
      figures.onLost(); // perhaps: only the gauges are sent again
    }
    pushing = false;
    queues.forEach(ReportQueue::giveUp); // unacknowledged, so due again
  }

  private void collect(boolean interval) {
    woken.set(false); // before the handles are read, so that no signal is lost
    handles.collect(interval);
  }

  private HandleMetricBatch batch(long now, boolean withReplicas) {
    giveUp();
    List<HandleMetricReport> ofHandles = new ArrayList<>();
    List<HandleMetricReport> ofReplicas = new ArrayList<>();
    List<QueueLength> lengths = new ArrayList<>();
    int room = handles.tell(ofHandles, lengths, maxReportBytes, true);
    if (withReplicas) {
      nextReplicasNanos = now + replicaRhythm.push.toNanos();
      replicas.collect(true);
      replicas.tell(ofReplicas, lengths, room, false);
    }
    pushing = true;
    pushedAtNanos = now;
    batches++;
    NodeFigures told = figures == null ? NodeFigures.NONE : figures.take();
    return new HandleMetricBatch(
        node, incarnation, ++sequence, ofHandles, ofReplicas, lengths, told);
  }
}
