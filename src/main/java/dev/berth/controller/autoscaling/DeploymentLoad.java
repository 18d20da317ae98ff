package dev.berth.controller.autoscaling;

/**
 * The demand for one deployment, summed over the instances that reported.
 *
 * @param queued requests waiting for a slot
 * @param running requests at replicas
 * @param reserved slots held by selections
 * @param averageLoad mean of queued + running + reserved over each instance's last interval, summed
 * @param atReplicas mean of the load in its replicas' own ledgers, summed; requests in flight to or
 *     from them do not count
 * @param instances number of instances that reported
 * @param oldestMs age in milliseconds of the oldest report; a silent source is unknown and makes
 *     this grow, and its load never counts as zero
 */
public record DeploymentLoad(
    long queued,
    long running,
    long reserved,
    double averageLoad,
    double atReplicas,
    int instances,
    long oldestMs) {}
