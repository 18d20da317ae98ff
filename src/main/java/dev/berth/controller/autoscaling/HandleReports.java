package dev.berth.controller.autoscaling;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The load reports of all instances: for each instance the time of its last batch and its last
 * report of each handle. A silent instance retains its reports with their age, as unknown load,
 * never as zero. Confined to the controller's loop.
 *
 * <p>A batch names only handles that changed or are not zero, so it refreshes every handle of its
 * instance. An instance that leaves is removed after its last report.
 *
 * <p>Source: the review of Ray #55016, where a source that died scaled its deployment down.
 */
public final class HandleReports {
  /**
   * Maximum number of instances; batches of further ones are refused. One instance never reaches
   * it.
   */
  public static final int MAX_INSTANCES = 4_096;

  /** Maximum number of earlier processes of one instance whose late batches are recognised. */
  static final int MAX_ENDED = 16;

  /**
   * Maximum valid load of an instance, in requests. A report above it, below 0 or not a number is
   * invalid.
   */
  static final double MAX_LOAD = 1e9;

  /** The reports of one instance's latest process. */
  static final class ReportingInstance {
    final String name;
    boolean expected; // registered before this controller started
    boolean speaks;
    long sinceNanos; // begin of reports without a silence; time of registration before the first
    private long heardNanos; // time of the last batch
    private long incarnation;
    private long sequence;
    private final ArrayDeque<Long> ended = new ArrayDeque<>(); // incarnations of earlier processes
    private final Map<DeploymentId, HandleMetricReport> handles = new HashMap<>();
    private final Map<DeploymentId, HandleMetricReport> replicas = new HashMap<>();

    private ReportingInstance(String name, long nowNanos) {
      this.name = name;
      sinceNanos = nowNanos;
      heardNanos = nowNanos;
    }

    /** Returns the milliseconds since its last report. */
    long ageMs(long nowNanos) {
      return TimeUnit.NANOSECONDS.toMillis(nowNanos - heardNanos);
    }

    private boolean isLate(HandleMetricBatch batch) {
      return batch.incarnation() == incarnation
          ? batch.sequence() <= sequence
          : ended.contains(batch.incarnation());
    }

    /** Starts a new process of the instance; reports of the earlier one are discarded. */
    private void replace(long nowNanos) {
      ended.addLast(incarnation);
      if (ended.size() > MAX_ENDED) {
        ended.removeFirst();
      }
      sinceNanos = nowNanos;
      handles.clear();
      replicas.clear();
    }
  }

  public final long silentNanos;
  private final Map<String, ReportingInstance> instances = new HashMap<>();

  /**
   * Creates an empty store.
   *
   * @param silentNanos time without a batch after which an instance's load is unknown; in Ray Serve
   *     twice the push interval, at least 10 s
   */
  public HandleReports(long silentNanos) {
    this.silentNanos = silentNanos;
  }

  /** Registers live instances that have not reported yet. */
  public void expect(Collection<String> names, long nowNanos) {
    names.forEach(name -> instance(name, nowNanos).expected = true);
  }

  private ReportingInstance instance(String name, long nowNanos) {
    return instances.computeIfAbsent(name, none -> new ReportingInstance(name, nowNanos));
  }

  /** Returns the instances that are registered or have reported. */
  Collection<ReportingInstance> instances() {
    return instances.values();
  }

  boolean isSilent(ReportingInstance instance, long nowNanos) {
    return nowNanos - instance.heardNanos > silentNanos;
  }

  /** Records a sign of life of an instance. */
  ReportingInstance recordContact(String name, long nowNanos) {
    ReportingInstance instance = instance(name, nowNanos);
    if (!instance.speaks || isSilent(instance, nowNanos)) {
      instance.speaks = true;
      instance.sinceNanos = nowNanos;
    }
    instance.heardNanos = nowNanos;
    return instance;
  }

  /**
   * Records a batch.
   *
   * @return false when the batch was ignored, as it is older, of an earlier process, or of one
   *     instance too many. A batch with an invalid load is ignored too, so that its instance
   *     becomes silent
   */
  public boolean record(HandleMetricBatch batch, long nowNanos) {
    ReportingInstance known = instances.get(batch.node());
    if (known == null ? instances.size() >= MAX_INSTANCES : known.isLate(batch)) {
      return false;
    }
    if (!batch.handles().stream().allMatch(HandleReports::canBe)) {
      return false;
    }
    ReportingInstance instance = recordContact(batch.node(), nowNanos);
    if (instance.sequence > 0 && instance.incarnation != batch.incarnation()) {
      instance.replace(nowNanos);
    }
    instance.incarnation = batch.incarnation();
    instance.sequence = batch.sequence();
    batch.handles().forEach(report -> keep(report, instance.handles));
    batch.replicas().forEach(report -> keep(report, instance.replicas));
    return true;
  }

  private static boolean canBe(HandleMetricReport report) {
    double reserved = report.averageReserved();
    return report.averageLoad() <= MAX_LOAD && reserved >= 0 && reserved <= report.averageLoad();
  }

  private static void keep(HandleMetricReport report, Map<DeploymentId, HandleMetricReport> in) {
    if (report.last()) {
      in.remove(report.deployment()); // also after its deployment was forgotten
    } else {
      in.put(report.deployment(), report);
    }
  }

  /**
   * Returns whether the batch of this time was the first of its instance, of its process, or after
   * a silence.
   */
  public boolean isNews(String name, long nowNanos) {
    return instances.get(name).sinceNanos == nowNanos;
  }

  /** Removes an instance; returns whether it was known. */
  public boolean forget(String name) {
    return instances.remove(name) != null;
  }

  /** Removes a deleted deployment. */
  public void forget(DeploymentId deployment) {
    for (ReportingInstance each : instances.values()) {
      each.handles.remove(deployment);
      each.replicas.remove(deployment);
    }
  }

  /** Returns the last report of a deployment from each instance, by instance. */
  public Map<String, HandleMetricReport> of(DeploymentId deployment) {
    return telling(deployment)
        .collect(Collectors.toMap(each -> each.name, each -> each.handles.get(deployment)));
  }

  /**
   * Returns an instance's last report of a deployment; null when it does not call the deployment.
   * The instance must have reported.
   */
  public @Nullable HandleMetricReport lastReport(String name, DeploymentId deployment) {
    return instances.get(name).handles.get(deployment);
  }

  private Stream<ReportingInstance> telling(DeploymentId deployment) {
    return instances.values().stream().filter(each -> each.handles.containsKey(deployment));
  }

  /** Returns the known demand for a deployment. */
  public DeploymentLoad load(DeploymentId deployment, long nowNanos) {
    Collection<HandleMetricReport> said = of(deployment).values();
    return new DeploymentLoad(
        said.stream().mapToLong(HandleMetricReport::queued).sum(),
        said.stream().mapToLong(HandleMetricReport::running).sum(),
        said.stream().mapToLong(HandleMetricReport::reserved).sum(),
        said.stream().mapToDouble(HandleMetricReport::averageLoad).sum(),
        instances.values().stream()
            .map(each -> each.replicas.get(deployment))
            .filter(Objects::nonNull)
            .mapToDouble(HandleMetricReport::averageLoad)
            .sum(),
        said.size(),
        telling(deployment).mapToLong(each -> each.ageMs(nowNanos)).max().orElse(0));
  }
}
