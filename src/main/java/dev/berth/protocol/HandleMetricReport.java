package dev.berth.protocol;

import dev.berth.api.DeploymentId;
import java.util.List;

/**
 * The demand on one deployment, as the routers of one instance measure it, or the load of its
 * replicas on that instance. Load is queued + running + reserved: a reserved slot is used capacity.
 *
 * <p>Source: Ray #55016 HandleMetricReport, reduced to samples instead of a raw series.
 *
 * @param deployment the called deployment
 * @param queued requests that wait for a slot now
 * @param running requests sent and not yet answered
 * @param reserved slots reserved by selections now
 * @param averageLoad mean of queued + running + reserved over the samples since the last batch
 * @param averageReserved the reserved part of that mean, for policies that exclude reserved slots
 * @param last whether this is the last report of the instance for the deployment
 * @param stats figures of its replicas on this instance since the last batch, each the mean; empty
 *     in reports of routers
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

  /** Returns the report of a removed handle: a known zero, as opposed to an unknown value. */
  public static HandleMetricReport finalZero(DeploymentId deployment) {
    return new HandleMetricReport(deployment, 0, 0, 0, 0.0, 0.0, true, List.of());
  }

  /** Returns whether no request is queued or running and no slot is reserved. */
  public boolean isZero() {
    return queued == 0 && running == 0 && reserved == 0 && averageLoad == 0.0;
  }
}
