package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage.QueueLength;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.ReplicaStats;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One deployment's sources, what is known of them, and what the controller knows.
 *
 * <pre>
 *   autoscales:     sampled at each record interval; due while not zero, or not as it was told
 *   does not:       its queue is read when a batch is made, and rides alone while not as told
 *   no longer, or its last source left: due with zeros until these are told, then silent
 * </pre>
 *
 * Control loop only, but for its sources.
 */
final class SampledDeployment {
  /**
   * How often a handle that is idle is read whole, in samples: two readings in a row found it idle,
   * and a third finds whoever stood between the count and the gauge of a request for so long.
   */
  static final int IDLE_SAMPLES_PER_READING = 10;

  /** Counts, averages and lengths of a report, generously. */
  private static final int FIXED_REPORT_BYTES = 56;

  /** What replicas told of themselves rides in a report as far as this; the others go next. */
  static final int MAX_STATS_BYTES = 64 << 10;

  private static final HandleMetricSource[] NONE = {};

  final DeploymentId deployment;
  private final int bareBytes; // the most it takes in its wire form, without what replicas told

  // Changed under the map's lock on this key, read anywhere.
  private volatile HandleMetricSource[] sources = NONE;
  private volatile boolean signalled; // since the last push interval

  boolean waiting; // in the queue of what is due
  private boolean autoscales; // at the last reading
  private boolean readable = true;
  private int queued;
  private int running;
  private int reserved;
  private long loadSum;
  private long reservedSum;
  private long samples;
  private @Nullable HandleMetricSource idle; // the only source, when nothing is under way there
  private List<ReplicaStats> stats = List.of();
  private int statsBytes;
  private int nextStats; // the source that is asked first for them
  private HandleMetricSource[] idleOf = NONE; // that were read
  private long idleBegun = -1; // when all was 0 at the last reading
  private int idleSamples;

  // In flight, then told.
  private long reportedLoadSum;
  private long reportedReservedSum;
  private long reportedSamples;
  private int reportedQueue;
  private boolean reportedFinal;
  private @Nullable HandleMetricReport reported;
  private @Nullable HandleMetricReport told;
  private boolean listed; // the controller may have a report of it that is not final
  private int toldQueue;

  SampledDeployment(DeploymentId deployment) {
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

  /** Whether that is news since {@link #endSignal}. Any thread. */
  boolean signal() {
    boolean news = !signalled;
    signalled = true;
    return news;
  }

  void endSignal() {
    signalled = false;
  }

  /** Reads what is sampled; nothing of a deployment that does not autoscale. */
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
        && only.begun() == idleBegun) {
      samples++; // of zeros
      readable = true;
    } else {
      read(now);
    }
  }

  /** It is sampled no longer: what its samples came to does not matter. */
  private void rest() {
    autoscales = false;
    forgetStats();
    idle = null;
    idleBegun = -1;
    loadSum = reportedLoadSum = 0;
    reservedSum = reportedReservedSum = 0;
    samples = reportedSamples = 0;
  }

  /** Reads, before a batch is made, what {@link #sample} does not. */
  void look() {
    if (!autoscales) {
      queued = 0;
      for (HandleMetricSource source : sources) {
        queued += Math.max(0, source.queued());
      }
      readable = true;
    } else if (stats.isEmpty()) { // else what was taken has not been told yet
      takeStats(sources);
    }
  }

  /** In turn, so that each gets its place in a report. */
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

  /** The most that a text takes in its wire form, its length included. */
  private static int bytes(String text) {
    return 3 * text.length() + Integer.BYTES;
  }

  /** The most it takes in its wire form. */
  int reportBytes() {
    return bareBytes + statsBytes;
  }

  private void read(HandleMetricSource[] now) {
    idle = null;
    long begunNow = now.length == 1 ? now[0].begun() : -1; // before the gauges
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

  /** One broken source must not silence the others. */
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

  /** Writes what is due. */
  void tell(List<HandleMetricReport> reports, List<QueueLength> queues) {
    reported = null;
    if (reportIsDue()) {
      HandleMetricReport report = report();
      reported = report;
      reports.add(report);
      forgetStats();
    }
    reportedQueue = autoscales ? 0 : queued; // a report takes the place of a length
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

  /** The controller has what was written: only the samples since then are still to be told. */
  void told() {
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

  /** Another controller: it was told nothing. */
  void untold() {
    told = null;
  }

  /** Whether its last source left, and the controller knows that. */
  boolean isForgettable() {
    return sources.length == 0 && !listed && toldQueue == 0;
  }
}
