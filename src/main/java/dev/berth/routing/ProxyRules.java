package dev.berth.routing;

import dev.berth.api.DeploymentId;
import java.util.List;

/**
 * Rules of a deployment whose replicas are remote servers. They change live.
 *
 * @param proxies whether the replicas are remote servers
 * @param fallback deployments, in order, for requests that no replica of this one can run
 * @param replayBytes maximum body size of a request that may be sent to a second replica
 */
public record ProxyRules(boolean proxies, List<DeploymentId> fallback, int replayBytes) {
  /** Rules of a deployment whose replicas are handlers of this instance. */
  public static final ProxyRules NONE = new ProxyRules(false, List.of(), 0);
}
