package dev.berth.controller.autoscaling;

/**
 * The demand for one deployment, summed over the instances that reported.
 *
 * @param queued requests waiting for a slot
 * @param running requests at replicas
 * @param reserved slots held by selections
 * @param averageLoad mean of queued + running + reserved over each instance's last interval, summed
 * @param atReplicas mean of what its replicas held by their own ledgers, summed; requests under way
 *     to them and back are not in it
 * @param instances how many have reported it
 * @param oldestMs age in milliseconds of the oldest of these reports; a source that stopped
 *     reporting is unknown and makes this grow, it never counts as zero
 */
public record DeploymentLoad(
    long queued,
    long running,
    long reserved,
    double averageLoad,
    double atReplicas,
    int instances,
    long oldestMs) {}
