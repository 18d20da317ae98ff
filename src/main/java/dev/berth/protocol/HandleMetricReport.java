package dev.berth.protocol;

import dev.berth.api.DeploymentId;
import java.util.List;

/**
 * One deployment's demand as one instance's routers see it, or what its replicas there hold. Load
 * is queued + running + reserved: a held slot is used capacity.
 *
 * <p>Source: Ray #55016 HandleMetricReport, reduced to what was sampled instead of a raw series.
 *
 * @param deployment called
 * @param queued requests waiting for a slot now
 * @param running requests sent and unanswered now
 * @param reserved slots held by selections now
 * @param averageLoad mean of queued + running + reserved over the samples since the last batch
 * @param averageReserved the part of it that was reserved, for who does not count held slots
 * @param last whether the instance reports it no longer
 * @param stats what its replicas there told of themselves since the last batch, the mean of each
 *     figure; empty in what routers see
 */
public record HandleMetricReport(
    DeploymentId deployment,
    int queued,
    int running,
    int reserved,
    double averageLoad,
    double averageReserved,
    boolean last,
    List<ReplicaStats> stats) {

  /** Says a handle is gone: zero, as opposed to unknown. */
  public static HandleMetricReport finalZero(DeploymentId deployment) {
    return new HandleMetricReport(deployment, 0, 0, 0, 0.0, 0.0, true, List.of());
  }

  /** Whether nothing waits, runs, or is held. */
  public boolean isZero() {
    return queued == 0 && running == 0 && reserved == 0 && averageLoad == 0.0;
  }
}
