package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.BusMessage.QueueLength;
import dev.berth.protocol.HandleMetricReport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides what one instance tells the controller of its handles and replicas, and when: one batch
 * per push interval, whatever the number of handles, loops and applications.
 *
 * <pre>
 *   due --batched--> in flight --acknowledged--> told
 *                    in flight --failed, or its mark expired--> due
 *   told --acknowledged by a controller of another term--> due
 * </pre>
 *
 * A handle whose deployment autoscales is due when it is not zero, or when it differs from what the
 * controller last acknowledged. When its deployment autoscales no longer, or its last source left,
 * it is due with zeros until that is acknowledged. Of other deployments only the length of the
 * queue rides, while it is not zero. A handle whose source cannot be read is not reported at all:
 * unknown is not zero. A batch goes out even when no handle is due, since it says that the instance
 * lives.
 *
 * <p>What the replicas here hold rides in the first batch after their own push interval.
 *
 * <p>{@link #register}, {@link #registerReplica} and {@link #signal} may be called from any thread;
 * everything else belongs to the control event loop.
 *
 * <p>Source: Ray #55016 SharedHandleMetricsPusher. Its review found the two defects this avoids: a
 * set changed while it was walked, and state read on a loop that did not own it.
 */
public final class MetricsPusher {
  /**
   * Bound of a batch's reports in their wire form, in bytes: one message, with room for the rest of
   * it. Over 10 000 reports of names that have 30 characters.
   */
  public static final int DEFAULT_MAX_REPORT_BYTES = 960 << 10;

  private static final long MIN_IN_FLIGHT_NANOS = TimeUnit.SECONDS.toNanos(2);

  /**
   * How often something is sampled, and told.
   *
   * @param record between two samples
   * @param push between two batches that tell of it
   */
  public record Rhythm(Duration record, Duration push) {}

  private final String node;
  private final long incarnation;
  private final LongSupplier nanoClock;
  private final Rhythm rhythm;
  private final Rhythm replicaRhythm;
  private final long inFlightLimitNanos; // an unanswered batch holds up the next one for so long
  private final int maxReportBytes;
  private final ReportQueue handles = new ReportQueue();
  private final ReportQueue replicas = new ReportQueue();
  private final List<ReportQueue> queues = List.of(handles, replicas);
  private final AtomicBoolean woken = new AtomicBoolean();
  private volatile Runnable wake = () -> {};

  // Control loop only, but for the counters, which scrapes read.
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
  volatile long skipped; // push intervals passed over because a batch was in flight
  private volatile long failed;
  volatile long expired; // batches given up unanswered

  /**
   * @param node the instance's name, as the controller knows it
   * @param incarnation which start of it
   * @param maxReportBytes bound of a batch's reports in their wire form; one report always fits
   */
  public MetricsPusher(
      String node,
      long incarnation,
      Rhythm handles,
      Rhythm replicas,
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
   * Adds a handle. Several of one deployment are reported as their sum. Closing the registration
   * takes it away; after the last one of a deployment a final zero is reported.
   */
  public Registration register(HandleMetricSource handle) {
    return handles.register(handle);
  }

  /** As {@link #register}, for a replica of this instance. */
  public Registration registerReplica(HandleMetricSource replica) {
    return replicas.register(replica);
  }

  /**
   * A request waits for a deployment without a replica: the controller is told at once, or as soon
   * as the batch in flight is settled; once for each deployment and push interval, since then the
   * controller knows, and at most once in a record interval. Any thread.
   */
  public void signal(DeploymentId deployment) {
    if (handles.signal(deployment) && woken.compareAndSet(false, true)) {
      wake.run();
    }
  }

  /** Has {@link #signalBatch} asked for soon, on the control event loop; from any thread. */
  public void onSignal(Runnable soon) {
    wake = soon;
  }

  /** Of the handles. */
  public Rhythm rhythm() {
    return rhythm;
  }

  /** Of the replicas. */
  public Rhythm replicaRhythm() {
    return replicaRhythm;
  }

  /** Samples the replicas. */
  public void sampleReplicas() {
    replicas.sample();
  }

  /**
   * Samples every handle; at the end of a push interval also makes the batch to send, whose outcome
   * the caller then reports by {@link #settled}.
   *
   * @return null when it is not time yet, or while a batch is in flight
   */
  public @Nullable HandleMetricBatch tick() {
    long now = nanoClock.getAsLong();
    boolean over = isOver(nextPushNanos, now);
    if (over) {
      // From now on, not from when it was due: a blocked loop is not made up for by a burst.
      nextPushNanos = now + rhythm.push.toNanos();
      boolean waits = pushing && now - pushedAtNanos < inFlightLimitNanos;
      skipped += waits ? 1 : 0;
      if (!waits) {
        expired += pushing ? 1 : 0;
        retrying = false;
        return batch(now, isOver(nextReplicasNanos, now), true);
      }
    }
    handles.sample();
    return signalBatch();
  }

  /** A batch out of turn, if something signalled; as {@link #tick}. */
  public @Nullable HandleMetricBatch signalBatch() {
    long now = nanoClock.getAsLong();
    if (!woken.get() || pushing || retrying || !isOver(nextSignalNanos, now)) {
      return null; // settled, or the next tick, looks again
    }
    nextSignalNanos = now + rhythm.record.toNanos();
    signalled++;
    return batch(now, false, false);
  }

  /** A last batch, whatever the time and whatever is in flight: for the end of the instance. */
  public HandleMetricBatch lastBatch() {
    return batch(nanoClock.getAsLong(), true, true);
  }

  /**
   * How the push of a batch ended. An answer to a batch that was given up changes nothing.
   *
   * @param batchSequence the batch's
   * @param answeredBy the term of the controller that has it; negative when none surely has
   */
  public void settled(long batchSequence, long answeredBy) {
    if (!pushing || batchSequence != sequence) {
      return;
    }
    retrying = answeredBy < 0;
    if (retrying) {
      failed++;
      giveUp();
      return;
    }
    pushing = false;
    if (answeredBy != term) {
      if (term >= 0) {
        nextPushNanos = nanoClock.getAsLong(); // it is to know everything soon
      }
      term = answeredBy;
      queues.forEach(ReportQueue::untold);
    }
    queues.forEach(ReportQueue::told);
  }

  /** What it made, and what became of it. */
  public void show(Series into) {
    into.counter("berth_metrics_batches", batches);
    into.counter("berth_metrics_signals", signalled);
    into.counter("berth_metrics_pushes_skipped", skipped);
    into.counter("berth_metrics_pushes_failed", (double) failed + expired);
    into.counter("berth_metrics_unreadable_samples", unreadable());
    into.gauge("berth_metrics_handles", handles());
  }

  /** Batches made. */
  public long batches() {
    return batches;
  }

  /** Of them, those that a signal asked for. */
  public long signalled() {
    return signalled;
  }

  /** Batches the controller did not take. */
  public long failed() {
    return failed;
  }

  /** Reads of a source that threw. */
  long unreadable() {
    return handles.unreadable() + replicas.unreadable();
  }

  /** Deployments called, those with only a final zero left included. */
  public int handles() {
    return handles.size();
  }

  /** A timer that fires a little early is the one that was meant. */
  private boolean isOver(long intervalEnd, long now) {
    return now - intervalEnd >= -rhythm.record.toNanos() / 4;
  }

  private void giveUp() {
    pushing = false;
    queues.forEach(ReportQueue::giveUp); // still unacknowledged, so due again
  }

  private HandleMetricBatch batch(long now, boolean withReplicas, boolean interval) {
    giveUp();
    woken.set(false); // before the handles are read, so that no signal is lost
    handles.collect(interval);
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
    return new HandleMetricBatch(node, incarnation, ++sequence, ofHandles, ofReplicas, lengths);
  }
}
