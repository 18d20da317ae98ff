package dev.berth.cluster.data;

/**
 * What an instance was told when it became a node.
 *
 * @param clusterId of the cluster
 * @param number its own
 */
public record OwnRegistration(String clusterId, long number) {}
