package dev.berth.cluster.data;

import java.time.Duration;

/**
 * What an instance's data links are made with.
 *
 * @param busNode its own name and process
 * @param cluster name of the cluster
 * @param interval between two signs of life
 * @param timeout of silence, after which a peer is suspected; also of a pause of one's own, after
 *     which what comes is thought to be old
 * @param maxInFlightBytesPerPeer over all links to one
 */
public record DataSettings(
    String busNode,
    String cluster,
    Duration interval,
    Duration timeout,
    long maxInFlightBytesPerPeer) {}
