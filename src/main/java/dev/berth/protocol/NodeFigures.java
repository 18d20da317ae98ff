package dev.berth.protocol;

import dev.berth.api.DeploymentId;
import java.util.List;

/**
 * Activity of one instance since its last figures, for the curves that operators see.
 *
 * @param intervalMillis time since the last figures; 0 for no figures
 * @param loopLagMicros 99th percentile of the scheduling latency of the slowest event loop
 * @param deployments deployments with requests, or with a changed gauge
 */
public record NodeFigures(
    long intervalMillis, long loopLagMicros, List<DeploymentFigures> deployments) {
  /** Figures of a batch that reports none. */
  public static final NodeFigures NONE = new NodeFigures(0, 0, List.of());

  /**
   * Activity of a deployment on one instance. Requests, errors and latencies belong to its routes,
   * or to its replicas if it has no route.
   *
   * @param requests requests that ended since the last figures
   * @param errors those with a status of 500 or above, or with a failure of the handler
   * @param latencies their latencies; buckets without a request are absent
   * @param queued requests that wait for a slot
   * @param slotsUsed running and reserved slots of the replicas here
   * @param slots all slots of the replicas here
   * @param replicas number of replicas here
   */
  public record DeploymentFigures(
      DeploymentId deployment,
      long requests,
      long errors,
      List<LatencyCount> latencies,
      int queued,
      int slotsUsed,
      int slots,
      int replicas) {

    /** Returns whether another reading has the same gauges. */
    public boolean hasGauges(int queuedNow, int usedNow, int slotsNow, int replicasNow) {
      return queued == queuedNow
          && slotsUsed == usedNow
          && slots == slotsNow
          && replicas == replicasNow;
    }
  }

  /** A number of requests whose latency is in one bucket of the latency histogram. */
  public record LatencyCount(int bucket, long count) {}
}
