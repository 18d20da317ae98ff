package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage.QueueLength;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.ReplicaStats;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Sources of one deployment, with their sampled values and the reports that the controller has
 * acknowledged.
 *
 * <pre>
 *   autoscales:    sampled per record interval; due while not zero or not as acknowledged
 *   does not:      queue read per batch; due alone while not zero or not as acknowledged
 *   no longer, or its last source removed:  due with zeros until acknowledged, then silent
 * </pre>
 *
 * Confined to the control loop, except its sources.
 */
final class DeploymentSampler {
  /**
   * Samples per full reading of an idle handle. Two readings without requests make a handle idle.
   * The periodic reading finds a request that was delayed since then between its count and its
   * gauge.
   */
  static final int IDLE_SAMPLES_PER_READING = 10;

  /** Upper estimate of the bytes of counts, averages and lengths in a report. */
  private static final int FIXED_REPORT_BYTES = 56;

  /**
   * Limit in bytes for replica statistics in one report; further ones follow in the next report.
   */
  static final int MAX_STATS_BYTES = 64 << 10;

  private static final HandleMetricSource[] NONE = {};

  final DeploymentId deployment;
  private final int bareBytes; // maximum wire bytes without replica statistics

  // Changed under the map's lock on this key, read on any thread.
  private volatile HandleMetricSource[] sources = NONE;
  private volatile boolean signalled; // since the last push interval

  boolean waiting; // in the queue of due reports
  boolean autoscales; // at the last reading
  private boolean readable = true;
  private int queued;
  private int running;
  private int reserved;
  private long loadSum;
  private long reservedSum;
  private long samples;
  private @Nullable HandleMetricSource idle; // the only source, if it is idle
  private List<ReplicaStats> stats = List.of();
  private int statsBytes;
  private int nextStats; // index of the source read last for them
  private HandleMetricSource[] idleOf = NONE; // sources of the last reading
  private long idleBegun = -1; // count at the last reading, if all gauges were 0
  private int idleSamples;

  // Reports in flight, and the last acknowledged ones.
  private long reportedLoadSum;
  private long reportedReservedSum;
  private long reportedSamples;
  private int reportedQueue;
  private boolean reportedFinal;
  private @Nullable HandleMetricReport reported;
  private @Nullable HandleMetricReport told;
  private boolean listed; // the controller may have a report that is not final
  private int toldQueue;

  DeploymentSampler(DeploymentId deployment) {
    this.deployment = deployment;
    String names = deployment.application() + deployment.name();
    this.bareBytes = FIXED_REPORT_BYTES + names.getBytes(StandardCharsets.UTF_8).length;
  }

  void add(HandleMetricSource source) {
    sources =
        Stream.concat(Stream.of(sources), Stream.of(source)).toArray(HandleMetricSource[]::new);
  }

  void remove(HandleMetricSource source) {
    sources = Stream.of(sources).filter(each -> each != source).toArray(HandleMetricSource[]::new);
  }

  void forEachSource(Consumer<HandleMetricSource> action) {
    for (HandleMetricSource source : sources) {
      action.accept(source);
    }
  }

  /** Records a signal. Returns whether it is the first since {@link #endSignal}. Thread-safe. */
  boolean signal() {
    boolean news = !signalled;
    signalled = true;
    return news;
  }

  void endSignal() {
    signalled = false;
  }

  /** Samples the sources of a deployment that autoscales. */
  void sample() {
    HandleMetricSource[] now = sources;
    if (now.length == 0 || !now[0].autoscales()) {
      rest();
      return;
    }
    autoscales = true;
    HandleMetricSource only = idle;
    if (only != null
        && idleOf == now
        && ++idleSamples % IDLE_SAMPLES_PER_READING != 0
        && only.begunCount() == idleBegun) {
      samples++; // of zeros
      readable = true;
    } else {
      read(now);
    }
  }

  /** Discards samples, since the deployment does not autoscale any longer. */
  private void rest() {
    autoscales = false;
    forgetStats();
    idle = null;
    idleBegun = -1;
    loadSum = reportedLoadSum = 0;
    reservedSum = reportedReservedSum = 0;
    samples = reportedSamples = 0;
  }

  /** Reads the values for a batch that {@link #sample} does not read. */
  void look() {
    if (!autoscales) {
      queued = 0;
      for (HandleMetricSource source : sources) {
        queued += Math.max(0, source.queued());
      }
      readable = true;
    } else if (stats.isEmpty()) { // else earlier statistics are still to be sent
      takeStats(sources);
    }
  }

  /** Collects statistics in rotation, so that each source gets space in a report. */
  private void takeStats(HandleMetricSource[] from) {
    stats = new ArrayList<>();
    for (int left = from.length; left > 0 && statsBytes < MAX_STATS_BYTES; left--) {
      nextStats = (nextStats + 1) % from.length;
      ReplicaStats told = from[nextStats].stats();
      if (told != null) {
        stats.add(told);
        statsBytes += bytes(told.replicaId());
        told.stats().forEach(each -> statsBytes += bytes(each.name()) + Double.BYTES);
      }
    }
  }

  private void forgetStats() {
    stats = List.of();
    statsBytes = 0;
  }

  /** Returns the maximum wire bytes of a text, including its length. */
  private static int bytes(String text) {
    return 3 * text.length() + Integer.BYTES;
  }

  /** Returns the maximum wire bytes of the report. */
  int reportBytes() {
    return bareBytes + statsBytes;
  }

  private void read(HandleMetricSource[] now) {
    idle = null;
    long begunNow = now.length == 1 ? now[0].begunCount() : -1; // before the gauges
    queued = running = reserved = 0;
    for (HandleMetricSource source : now) {
      source.sampled();
      queued += Math.max(0, source.queued());
      running += Math.max(0, source.running());
      reserved += Math.max(0, source.reserved());
    }
    loadSum += (long) queued + running + reserved;
    reservedSum += reserved;
    samples++;
    readable = true;
    boolean zero = begunNow >= 0 && queued + running + reserved == 0;
    idle = zero && idleOf == now && idleBegun == begunNow ? now[0] : null;
    idleOf = now;
    idleBegun = zero ? begunNow : -1;
  }

  /** Records that a source threw. The sources of other deployments are still reported. */
  void unreadable() {
    readable = false;
  }

  boolean isDue() {
    return readable && (reportIsDue() || queueIsDue());
  }

  private boolean reportIsDue() {
    HandleMetricReport known = told;
    if (!autoscales) {
      return listed;
    }
    return known == null
        || queued + running + reserved != 0
        || loadSum != 0
        || !known.isZero()
        || !stats.isEmpty();
  }

  private boolean queueIsDue() {
    return !autoscales && (queued != 0 || toldQueue != 0);
  }

  /** Writes the due report or queue length. */
  void tell(List<HandleMetricReport> reports, List<QueueLength> queues) {
    reported = null;
    if (reportIsDue()) {
      HandleMetricReport report = report();
      reported = report;
      reports.add(report);
      forgetStats();
    }
    reportedQueue = autoscales ? 0 : queued; // a report replaces the length
    if (queueIsDue()) {
      queues.add(new QueueLength(deployment, queued));
    }
  }

  private HandleMetricReport report() {
    reportedFinal = !autoscales;
    reportedLoadSum = loadSum;
    reportedReservedSum = reservedSum;
    reportedSamples = samples;
    if (reportedFinal) {
      return HandleMetricReport.finalZero(deployment);
    }
    listed = true;
    double of = Math.max(1, samples);
    return new HandleMetricReport(
        deployment, queued, running, reserved, loadSum / of, reservedSum / of, false, stats);
  }

  /** Records the acknowledgement. Only samples after the report remain to be sent. */
  void onAcknowledged() {
    toldQueue = reportedQueue;
    if (reported == null) {
      return;
    }
    listed = !reportedFinal;
    told = listed ? reported : null;
    loadSum -= Math.min(loadSum, reportedLoadSum);
    reservedSum -= Math.min(reservedSum, reportedReservedSum);
    samples -= Math.min(samples, reportedSamples);
  }

  /** Forgets the acknowledgement, since another controller has no report. */
  void forgetAcknowledgement() {
    told = null;
  }

  /** Returns whether the last source was removed, and the controller knows that. */
  boolean isForgettable() {
    return sources.length == 0 && !listed && toldQueue == 0;
  }
}
