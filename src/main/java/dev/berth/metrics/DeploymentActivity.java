package dev.berth.metrics;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.NodeFigures.DeploymentFigures;
import dev.berth.protocol.NodeFigures.LatencyCount;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Gauges of a deployment at one reading, and its requests since they were last sent. Confined to
 * the control loop.
 */
public final class DeploymentActivity {
  private final DeploymentId deployment;
  private final long[] routed = new long[LatencyBuckets.COUNT];
  private final long[] replied = new long[LatencyBuckets.COUNT];
  private long routedErrors;
  private long repliedErrors;
  private long failures; // of the present replicas since their start
  private long failuresBefore;
  private int queued;
  private int slotsUsed;
  private int slots;
  private int replicas;
  private boolean hasRoute;
  private boolean hasSource;
  private @Nullable DeploymentFigures sent; // null: all gauges are due

  DeploymentActivity(DeploymentId deployment) {
    this.deployment = deployment;
  }

  DeploymentId deployment() {
    return deployment;
  }

  void begin() {
    failuresBefore = failures;
    failures = 0;
    queued = slotsUsed = slots = replicas = 0;
    hasRoute = hasSource = false;
  }

  void addRoute(LatencyBuckets latencies, int status) {
    hasRoute = true;
    long ended = latencies.take(routed);
    routedErrors += status >= 500 ? ended : 0;
  }

  void add(HandleMetricSource source) {
    hasSource = true;
    queued += Math.max(0, source.queued());
    source.addTo(this);
  }

  /** Adds a replica: its slots, its failed requests since its start, and their latencies. */
  public void addReplica(int used, int all, long failed, List<LatencyBuckets> latencies) {
    replicas++;
    slotsUsed += used;
    slots += all;
    failures += failed;
    latencies.forEach(each -> each.take(replied));
  }

  void end() {
    repliedErrors += Math.max(0, failures - failuresBefore); // less when a replica was removed
    if (hasRoute) {
      Arrays.fill(replied, 0);
      repliedErrors = 0;
    }
  }

  boolean isDue() {
    return sent == null
        ? hasSource || requests() > 0
        : requests() + sent.requests() > 0 || !sent.hasGauges(queued, slotsUsed, slots, replicas);
  }

  /** Returns whether the deployment has no source any longer, and the controller knows that. */
  boolean isForgettable() {
    return !hasSource && !hasRoute && !isDue();
  }

  private long requests() {
    return LongStream.of(hasRoute ? routed : replied).sum();
  }

  void onLost() {
    sent = null;
  }

  /** Returns the figures to send, and begins the next ones. */
  DeploymentFigures take() {
    long[] counts = hasRoute ? routed : replied;
    long errors = hasRoute ? routedErrors : repliedErrors;
    List<LatencyCount> latencies = new ArrayList<>();
    for (int i = 0; i < counts.length; i++) {
      if (counts[i] > 0) {
        latencies.add(new LatencyCount(i, counts[i]));
      }
    }
    DeploymentFigures told =
        new DeploymentFigures(
            deployment, requests(), errors, latencies, queued, slotsUsed, slots, replicas);
    Arrays.fill(counts, 0);
    routedErrors = repliedErrors = 0;
    sent = told;
    return told;
  }

  /** Returns the maximum wire bytes of the figures. */
  int bytes() {
    return 64 + 3 * (deployment.application().length() + deployment.name().length());
  }
}
