package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage.QueueLength;
import dev.berth.protocol.HandleMetricReport;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Deployments of one kind of source, with their due and in-flight reports. Registration and signals
 * are thread-safe; all other methods are confined to the control loop.
 */
final class ReportQueue {
  private final ConcurrentHashMap<DeploymentId, DeploymentSampler> deployments =
      new ConcurrentHashMap<>();
  private final ArrayDeque<DeploymentSampler> due = new ArrayDeque<>(); // FIFO
  private final List<DeploymentSampler> inFlight = new ArrayList<>();
  private volatile long unreadable;
  private boolean sampled; // a deployment autoscaled at the last reading

  MeterRegistration register(HandleMetricSource source) {
    deployments.compute(
        source.deployment(),
        (deployment, known) -> {
          DeploymentSampler at = known == null ? new DeploymentSampler(deployment) : known;
          at.add(source);
          return at;
        });
    return () ->
        deployments.computeIfPresent(
            source.deployment(),
            (deployment, known) -> {
              known.remove(source);
              return known;
            });
  }

  /**
   * Records a signal. Returns whether it is the first of the deployment since the last push
   * interval. Thread-safe.
   */
  boolean signal(DeploymentId deployment) {
    DeploymentSampler known = deployments.get(deployment);
    return known != null && known.signal();
  }

  void forEachSource(Consumer<HandleMetricSource> action) {
    deployments.values().forEach(each -> each.forEachSource(action));
  }

  int size() {
    return deployments.size();
  }

  long unreadable() {
    return unreadable;
  }

  void sample() {
    sampled = false;
    for (DeploymentSampler each : deployments.values()) {
      read(each, DeploymentSampler::sample);
      sampled |= each.autoscales;
    }
  }

  /** Returns whether a deployment autoscaled at the last sample, so that the next one counts. */
  boolean isSampled() {
    return sampled;
  }

  /** Returns whether collected reports are due. */
  boolean isDue() {
    return !due.isEmpty();
  }

  private void read(DeploymentSampler each, Consumer<DeploymentSampler> reading) {
    try {
      reading.accept(each);
    } catch (RuntimeException broken) {
      each.unreadable();
      unreadable++;
    }
  }

  /**
   * Reads all sources, and enqueues deployments that are due.
   *
   * @param interval whether a push interval ends now
   */
  void collect(boolean interval) {
    sampled = false;
    for (DeploymentSampler each : deployments.values()) {
      if (interval) {
        each.endSignal(); // before the reading, so that no signal is lost
      }
      read(each, DeploymentSampler::sample);
      read(each, DeploymentSampler::look);
      sampled |= each.autoscales;
      if (!each.isDue()) {
        forget(each); // added and removed without a report
      } else if (!each.waiting) {
        each.waiting = true;
        due.add(each);
      }
    }
  }

  /**
   * Writes due reports as far as the limit allows. The others go first next time.
   *
   * @param room bytes left; negative for none
   * @param one whether to write one report of any length
   * @return bytes left; negative if some reports remain
   */
  int tell(List<HandleMetricReport> reports, List<QueueLength> queues, int room, boolean one) {
    int left = room;
    while (!due.isEmpty()) {
      DeploymentSampler each = due.peek();
      if (each.reportBytes() > left && !(one && inFlight.isEmpty())) {
        return -1;
      }
      due.remove();
      each.waiting = false;
      if (each.isDue()) {
        left -= each.reportBytes();
        each.tell(reports, queues);
        inFlight.add(each);
      }
    }
    return left;
  }

  /** Records that the reports in flight were acknowledged. */
  void onAcknowledged() {
    inFlight.forEach(DeploymentSampler::onAcknowledged);
    inFlight.forEach(this::forget);
    inFlight.clear();
  }

  /** Makes the reports in flight due again, since they may be lost. */
  void giveUp() {
    inFlight.clear();
  }

  /** Forgets all acknowledgements, since another controller has no reports. */
  void forgetAcknowledgements() {
    deployments.values().forEach(DeploymentSampler::forgetAcknowledgement);
  }

  /** Removes a deployment, atomically with register, so that a deployment added again stays. */
  private void forget(DeploymentSampler each) {
    if (each.isForgettable()) {
      deployments.computeIfPresent(
          each.deployment, (id, known) -> known.isForgettable() ? null : known);
    }
  }
}
