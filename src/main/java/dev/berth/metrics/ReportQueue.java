package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.BusMessage.QueueLength;
import dev.berth.protocol.HandleMetricReport;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The deployments of one kind of source, which of them are due, and which are in flight. Sources
 * come and go on any thread; everything else belongs to the control event loop.
 */
final class ReportQueue {
  private final ConcurrentHashMap<DeploymentId, SampledDeployment> deployments =
      new ConcurrentHashMap<>();
  private final ArrayDeque<SampledDeployment> due = new ArrayDeque<>(); // first in, first told
  private final List<SampledDeployment> inFlight = new ArrayList<>();
  private volatile long unreadable;

  Registration register(HandleMetricSource source) {
    deployments.compute(
        source.deployment(),
        (deployment, known) -> {
          SampledDeployment at = known == null ? new SampledDeployment(deployment) : known;
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

  /** Whether that deployment did not signal since the last push interval. Any thread. */
  boolean signal(DeploymentId deployment) {
    SampledDeployment known = deployments.get(deployment);
    return known != null && known.signal();
  }

  int size() {
    return deployments.size();
  }

  long unreadable() {
    return unreadable;
  }

  void sample() {
    deployments.values().forEach(each -> read(each, each::sample));
  }

  private void read(SampledDeployment each, Runnable reading) {
    try {
      reading.run();
    } catch (RuntimeException broken) {
      each.unreadable();
      unreadable++;
    }
  }

  /**
   * Reads all, and queues those that are due.
   *
   * @param interval whether a push interval ends by it
   */
  void collect(boolean interval) {
    for (SampledDeployment each : deployments.values()) {
      if (interval) {
        each.endSignal(); // before the reading, so that none is lost
      }
      read(each, each::sample);
      read(each, each::look);
      if (!each.isDue()) {
        forget(each); // one that came and went, and was never told
      } else if (!each.waiting) {
        each.waiting = true;
        due.add(each);
      }
    }
  }

  /**
   * Writes what is due, as far as there is room; the rest goes first next time.
   *
   * @param room in bytes; negative for none
   * @param one whether one of them goes however long it is
   * @return the room that is left; negative when not all had it
   */
  int tell(List<HandleMetricReport> reports, List<QueueLength> queues, int room, boolean one) {
    int left = room;
    while (!due.isEmpty()) {
      SampledDeployment each = due.peek();
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

  /** What is in flight arrived. */
  void told() {
    inFlight.forEach(SampledDeployment::told);
    inFlight.forEach(this::forget);
    inFlight.clear();
  }

  /** It did not, perhaps; so it is due again. */
  void giveUp() {
    inFlight.clear();
  }

  /** Another controller knows nothing. */
  void untold() {
    deployments.values().forEach(SampledDeployment::untold);
  }

  /** Atomic with register: a deployment that came back stays. */
  private void forget(SampledDeployment each) {
    if (each.isForgettable()) {
      deployments.computeIfPresent(
          each.deployment, (id, known) -> known.isForgettable() ? null : known);
    }
  }
}
