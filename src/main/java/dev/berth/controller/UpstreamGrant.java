package dev.berth.controller;

import java.util.Comparator;

/**
 * The slots of an upstream that one replica may use. The log contains the grant before the replica
 * opens, and until its owner is known to use none of them.
 *
 * @param replicaId replica that uses the slots
 * @param upstream identity of the upstream, without a part
 * @param node bus name of the owner: its name and process
 * @param host address of the owner's data port; empty until the grant is committed
 * @param port data port of the owner
 * @param maximum number of slots
 * @param leaseMillis time without a reply of the controller after which the owner resets its
 *     connections; 0 for never
 * @param resetMillis time after the owner's end, or the end of its connections, until the upstream
 *     runs nothing for it
 * @param lapseMillis time from the end of the lease until the upstream runs nothing for the owner
 */
public record UpstreamGrant(
    String replicaId,
    String upstream,
    String node,
    String host,
    int port,
    int maximum,
    long leaseMillis,
    long resetMillis,
    long lapseMillis) {
  /** Fixed order of grants. */
  public static final Comparator<UpstreamGrant> ORDER =
      Comparator.comparing(UpstreamGrant::upstream).thenComparing(UpstreamGrant::replicaId);

  /** Returns the same grant at the owner's data port. */
  public UpstreamGrant at(String host, int port) {
    return new UpstreamGrant(
        replicaId, upstream, node, host, port, maximum, leaseMillis, resetMillis, lapseMillis);
  }

  /** Returns the same grant with another number of slots and another lease. */
  UpstreamGrant with(int maximum, long leaseMillis) {
    return new UpstreamGrant(
        replicaId, upstream, node, host, port, maximum, leaseMillis, resetMillis, lapseMillis);
  }
}
