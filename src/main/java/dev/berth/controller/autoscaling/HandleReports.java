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
 * The instances: when each was heard, and what it said last of each handle. One that stopped
 * reporting keeps what it said, with its age: unknown, never zero. Belongs to the controller's
 * loop.
 *
 * <p>A batch names only handles that changed or are not zero, so a batch makes every handle of its
 * instance as fresh as itself. One that left says so, and is forgotten.
 *
 * <p>Source: the review of Ray #55016, where a source that died scaled its deployment down.
 */
public final class HandleReports {
  /** Instances remembered; batches of more are refused: a bound that one instance never meets. */
  public static final int MAX_INSTANCES = 4_096;

  /** Earlier starts of one instance whose late batches are told apart. */
  static final int MAX_ENDED = 16;

  /** Requests that no instance holds: a load above it, below 0 or that is no number is none. */
  static final double MAX_LOAD = 1e9;

  /** One instance, by the last of its starts. */
  static final class Instance {
    final String name;
    boolean expected; // there before this controller was
    boolean speaks;
    long sinceNanos; // it speaks without a silence; before that, since when it is known of
    private long heardNanos; // last
    private long incarnation;
    private long sequence;
    private final ArrayDeque<Long> ended = new ArrayDeque<>(); // incarnations that were replaced
    private final Map<DeploymentId, HandleMetricReport> handles = new HashMap<>();
    private final Map<DeploymentId, HandleMetricReport> replicas = new HashMap<>();

    private Instance(String name, long nowNanos) {
      this.name = name;
      sinceNanos = nowNanos;
      heardNanos = nowNanos;
    }

    /** Milliseconds since it was last heard. */
    long ageMs(long nowNanos) {
      return TimeUnit.NANOSECONDS.toMillis(nowNanos - heardNanos);
    }

    private boolean isLate(HandleMetricBatch batch) {
      return batch.incarnation() == incarnation
          ? batch.sequence() <= sequence
          : ended.contains(batch.incarnation());
    }

    /** It was started anew: what its earlier start said holds no longer. */
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

  private final long silentNanos;
  private final Map<String, Instance> instances = new HashMap<>();

  /**
   * @param silentNanos without a batch after which nothing is known of an instance any more; Ray
   *     Serve's is twice the push interval, 10 s at least
   */
  public HandleReports(long silentNanos) {
    this.silentNanos = silentNanos;
  }

  public long silentNanos() {
    return silentNanos;
  }

  /** These instances are there, and have yet to say what they know. */
  public void expect(Collection<String> names, long nowNanos) {
    names.forEach(name -> instance(name, nowNanos).expected = true);
  }

  private Instance instance(String name, long nowNanos) {
    return instances.computeIfAbsent(name, none -> new Instance(name, nowNanos));
  }

  /** Those that are expected, or were heard. */
  Collection<Instance> instances() {
    return instances.values();
  }

  boolean isSilent(Instance instance, long nowNanos) {
    return nowNanos - instance.heardNanos > silentNanos;
  }

  /** An instance speaks, of whatever. */
  Instance heard(String name, long nowNanos) {
    Instance instance = instance(name, nowNanos);
    if (!instance.speaks || isSilent(instance, nowNanos)) {
      instance.speaks = true;
      instance.sinceNanos = nowNanos;
    }
    instance.heardNanos = nowNanos;
    return instance;
  }

  /**
   * @return false when it changed nothing: an older batch, one of an earlier start of its instance,
   *     one instance too many, or a load that cannot be, for which its instance grows silent
   */
  public boolean record(HandleMetricBatch batch, long nowNanos) {
    Instance known = instances.get(batch.node());
    if (known == null ? instances.size() >= MAX_INSTANCES : known.isLate(batch)) {
      return false;
    }
    if (!batch.handles().stream().allMatch(HandleReports::canBe)) {
      return false;
    }
    Instance instance = heard(batch.node(), nowNanos);
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
      in.remove(report.deployment()); // one that comes after its deployment was forgotten too
    } else {
      in.put(report.deployment(), report);
    }
  }

  /** Whether a batch just now was the first of its instance, of its start, or after a silence. */
  public boolean isNews(String name, long nowNanos) {
    return instances.get(name).sinceNanos == nowNanos;
  }

  /** Forgets an instance that is gone; returns whether it was known. */
  public boolean forget(String name) {
    return instances.remove(name) != null;
  }

  /** Forgets a deployment that is gone. */
  public void forget(DeploymentId deployment) {
    for (Instance each : instances.values()) {
      each.handles.remove(deployment);
      each.replicas.remove(deployment);
    }
  }

  /** What each instance reported last of a deployment, by instance. */
  public Map<String, HandleMetricReport> of(DeploymentId deployment) {
    return telling(deployment)
        .collect(Collectors.toMap(each -> each.name, each -> each.handles.get(deployment)));
  }

  /**
   * What an instance that was heard reported last of a deployment; null when it does not call it.
   */
  public @Nullable HandleMetricReport said(String name, DeploymentId deployment) {
    return instances.get(name).handles.get(deployment);
  }

  private Stream<Instance> telling(DeploymentId deployment) {
    return instances.values().stream().filter(each -> each.handles.containsKey(deployment));
  }

  /** What is known of the demand for a deployment. */
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
