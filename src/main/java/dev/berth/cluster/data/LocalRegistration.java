package dev.berth.cluster.data;

/**
 * The registration of this instance as a node.
 *
 * @param clusterId of the cluster
 * @param number its registration number
 */
public record LocalRegistration(String clusterId, long number) {}
