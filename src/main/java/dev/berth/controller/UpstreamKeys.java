package dev.berth.controller;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The keys of all upstreams that have a replica, in any deployment and phase. Confined to the
 * controller's loop.
 */
final class UpstreamKeys {
  private final Predicate<String> unclaimed; // whether a found replica of an unknown owner has it
  private final Map<String, Integer> used = new HashMap<>(); // number of replicas
  private final Map<String, Set<DeploymentState>> waiting = new HashMap<>();

  UpstreamKeys(Predicate<String> unclaimed) {
    this.unclaimed = unclaimed;
  }

  void onReplicaAdded(ReplicaRecord replica) {
    if (!replica.upstream.isEmpty()) {
      used.merge(replica.upstream, 1, Integer::sum);
    }
  }

  /** Removes a replica that has ended; the deployments that wait for its key are decided again. */
  void onReplicaRemoved(ReplicaRecord replica, ReconcilePass turn) {
    if (!replica.upstream.isEmpty()
        && used.computeIfPresent(replica.upstream, (key, all) -> all == 1 ? null : all - 1)
            == null) {
      Set<DeploymentState> next = waiting.remove(replica.upstream);
      if (next != null) {
        next.forEach(turn::touch);
      }
    }
  }

  /** Returns whether no replica of a key exists. If one does, the deployment waits for its end. */
  boolean isFreeFor(String key, DeploymentState deployment) {
    boolean free = !used.containsKey(key) && !unclaimed.test(key);
    if (!free) {
      waiting.computeIfAbsent(key, none -> new LinkedHashSet<>()).add(deployment);
    }
    return free;
  }
}
