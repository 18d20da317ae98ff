package dev.berth.controller;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The keys of all upstreams that have a replica, in any deployment and phase. Confined to the
 * controller's loop.
 */
final class UpstreamKeys {
  private final Predicate<String> unclaimed; // whether a found replica of an unknown owner has it
  private final Map<String, List<ReplicaRecord>> used = new HashMap<>();
  private final Map<String, Set<DeploymentState>> waiting = new HashMap<>();

  UpstreamKeys(Predicate<String> unclaimed) {
    this.unclaimed = unclaimed;
  }

  void onReplicaAdded(ReplicaRecord replica) {
    if (!replica.upstream.isEmpty()) {
      used.computeIfAbsent(replica.upstream, none -> new ArrayList<>()).add(replica);
    }
  }

  /** Removes a replica that has ended; the deployments that wait for its key are decided again. */
  void onReplicaRemoved(ReplicaRecord replica, ReconcilePass turn) {
    List<ReplicaRecord> all = used.get(replica.upstream);
    if (all != null && all.remove(replica) && all.isEmpty()) {
      used.remove(replica.upstream);
      Set<DeploymentState> next = waiting.remove(replica.upstream);
      if (next != null) {
        next.forEach(turn::touch);
      }
    }
  }

  /**
   * Returns whether no replica of a key exists. If one does, the deployment waits for its end, and
   * the present ones are decided again.
   */
  boolean isFreeFor(String key, DeploymentState deployment, ReconcilePass turn) {
    List<ReplicaRecord> all = used.getOrDefault(key, List.of());
    boolean free = all.isEmpty() && !unclaimed.test(key);
    if (!free && waiting.computeIfAbsent(key, none -> new LinkedHashSet<>()).add(deployment)) {
      for (ReplicaRecord each : all) {
        each.awaited |= each.deployment != deployment;
        turn.touch(each.deployment);
      }
    }
    return free;
  }
}
