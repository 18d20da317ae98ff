package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.BusMessage.QueueLength;
import dev.berth.protocol.HandleMetricReport;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

/**
 * The last report of each handle on each instance. An instance that stopped reporting keeps what it
 * said, with its age: unknown, never zero. Belongs to the controller's loop.
 *
 * <p>A batch names only handles that changed or are not zero, so a batch makes every handle of its
 * instance as fresh as itself. One that left says so, and is forgotten.
 *
 * <p>Source: the review of Ray #55016, where a source that died scaled its deployment down.
 */
final class HandleReports {
  /** Instances remembered; batches of more are refused: a bound that one instance never meets. */
  static final int MAX_INSTANCES = 4_096;

  /** Earlier starts of one instance whose late batches are told apart. */
  static final int MAX_ENDED = 16;

  /** One start of one instance. */
  private static final class Instance {
    long incarnation;
    long sequence;
    long reportedNanos;
    final ArrayDeque<Long> ended = new ArrayDeque<>(); // incarnations that were replaced
    final Map<DeploymentId, HandleMetricReport> handles = new HashMap<>();
    final Map<DeploymentId, HandleMetricReport> replicas = new HashMap<>();
    final Map<DeploymentId, Integer> queues = new HashMap<>(); // of those that do not autoscale

    void forget(DeploymentId deployment) {
      handles.remove(deployment);
      replicas.remove(deployment);
      queues.remove(deployment);
    }
  }

  private final Map<String, Instance> instances = new HashMap<>();

  /**
   * @return false when it changed nothing: an older batch, one of an earlier start of its instance,
   *     or one instance too many
   */
  boolean record(HandleMetricBatch batch, long nowNanos) {
    Instance instance = instances.get(batch.node());
    if (instance == null) {
      if (instances.size() >= MAX_INSTANCES) {
        return false;
      }
      instance = new Instance();
      instance.incarnation = batch.incarnation();
      instances.put(batch.node(), instance);
    } else if (instance.incarnation != batch.incarnation()) {
      if (instance.ended.contains(batch.incarnation())) {
        return false;
      }
      replace(instance, batch.incarnation());
    } else if (batch.sequence() <= instance.sequence) {
      return false;
    }
    instance.sequence = batch.sequence();
    instance.reportedNanos = nowNanos;
    for (HandleMetricReport report : batch.handles()) {
      keep(report, instance.handles);
      instance.queues.remove(report.deployment());
    }
    for (HandleMetricReport report : batch.replicas()) {
      keep(report, instance.replicas);
    }
    for (QueueLength queue : batch.queues()) {
      if (queue.queued() == 0) {
        instance.queues.remove(queue.deployment());
      } else {
        instance.queues.put(queue.deployment(), queue.queued());
      }
    }
    return true;
  }

  private static void keep(HandleMetricReport report, Map<DeploymentId, HandleMetricReport> in) {
    if (report.last()) {
      in.remove(report.deployment()); // one that comes after its deployment was forgotten too
    } else {
      in.put(report.deployment(), report);
    }
  }

  /** It was started anew: what its earlier start said holds no longer. */
  private static void replace(Instance instance, long incarnation) {
    instance.ended.addLast(instance.incarnation);
    if (instance.ended.size() > MAX_ENDED) {
      instance.ended.removeFirst();
    }
    instance.incarnation = incarnation;
    instance.handles.clear();
    instance.replicas.clear();
    instance.queues.clear();
  }

  /** Forgets a deployment that is gone. */
  void forget(DeploymentId deployment) {
    instances.values().forEach(instance -> instance.forget(deployment));
  }

  /** What each instance reported last of a deployment, by instance. */
  Map<String, HandleMetricReport> of(DeploymentId deployment) {
    Map<String, HandleMetricReport> all = new HashMap<>();
    instances.forEach(
        (node, instance) -> {
          HandleMetricReport report = instance.handles.get(deployment);
          if (report != null) {
            all.put(node, report);
          }
        });
    return all;
  }

  DeploymentLoad load(DeploymentId deployment, long nowNanos) {
    long queued = 0;
    long running = 0;
    long reserved = 0;
    double averageLoad = 0;
    double atReplicas = 0;
    int reporting = 0;
    long oldest = 0;
    for (Instance instance : instances.values()) {
      queued += instance.queues.getOrDefault(deployment, 0);
      HandleMetricReport held = instance.replicas.get(deployment);
      atReplicas += held == null ? 0 : held.averageLoad();
      HandleMetricReport report = instance.handles.get(deployment);
      if (report != null) {
        queued += report.queued();
        running += report.running();
        reserved += report.reserved();
        averageLoad += report.averageLoad();
        reporting++;
        oldest = Math.max(oldest, nowNanos - instance.reportedNanos);
      }
    }
    return new DeploymentLoad(
        queued, running, reserved, averageLoad, atReplicas, reporting, oldest);
  }
}
