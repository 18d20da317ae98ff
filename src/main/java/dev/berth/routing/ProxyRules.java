package dev.berth.routing;

import dev.berth.api.DeploymentId;
import java.util.List;

/**
 * Rules of a deployment whose replicas are remote servers. They change live.
 *
 * @param proxies whether the replicas are remote servers
 * @param fallback deployments, in order, for requests that no replica of this one can run
 * @param replayBytes maximum body size of a request that may be sent to a second replica
 * @param idempotent whether a request that a replica may have run may be sent to another one
 * @param fallbackAfterNanos wait in the queue after which a request leaves for an open fallback;
 *     negative for none
 */
public record ProxyRules(
    boolean proxies,
    List<DeploymentId> fallback,
    int replayBytes,
    boolean idempotent,
    long fallbackAfterNanos) {
  /** Rules of a deployment whose replicas are handlers of this instance. */
  public static final ProxyRules NONE = new ProxyRules(false, List.of(), 0, false, -1);
}
