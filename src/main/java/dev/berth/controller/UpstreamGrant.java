package dev.berth.controller;

import dev.berth.config.DeploymentConfig;
import dev.berth.config.UpstreamArguments;
import dev.berth.config.UpstreamOptions;
import dev.berth.config.keys.Settings;
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
  /** Time from the reset of a connection until its upstream runs nothing, in milliseconds. */
  private static final long RESET_MILLIS = 1_000;

  /** Fixed order of grants. */
  public static final Comparator<UpstreamGrant> ORDER =
      Comparator.comparing(UpstreamGrant::upstream).thenComparing(UpstreamGrant::replicaId);

  /** Returns a grant without slots or a lease, by the settings that a replica has confirmed. */
  static UpstreamGrant of(ReplicaRecord replica) {
    Settings own = replica.target.settings();
    Settings entry = UpstreamOptions.find(own, replica.upstream);
    long orphan = entry == null ? 0 : UpstreamArguments.orphan(own, entry).toMillis();
    boolean stops = entry == null || entry.get(UpstreamOptions.STOPS_ON_CLOSE);
    long grace = own.get(DeploymentConfig.CANCEL_GRACE_S).toMillis();
    return new UpstreamGrant(
        replica.id,
        UpstreamOptions.withoutPart(replica.upstream),
        replica.node,
        "",
        0,
        0,
        0,
        RESET_MILLIS + (stops ? 0 : orphan),
        RESET_MILLIS + grace + orphan);
  }

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

  /**
   * Returns the same grant with the times of another one after the end of the owner or its lease.
   */
  UpstreamGrant endingAs(UpstreamGrant other) {
    return new UpstreamGrant(
        replicaId,
        upstream,
        node,
        host,
        port,
        maximum,
        leaseMillis,
        other.resetMillis,
        other.lapseMillis);
  }
}
