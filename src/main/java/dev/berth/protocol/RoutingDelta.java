package dev.berth.protocol;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.RoutingSnapshot.SnapshotReplica;
import dev.berth.protocol.RoutingSnapshot.SnapshotVersion;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The difference between two {@link RoutingSnapshot}s of a deployment. Its size depends on the
 * changes, not on the number of replicas. A delta from {@link SnapshotVersion#NONE} is whole and
 * needs no earlier snapshot. The order of routes has no meaning and is not preserved.
 *
 * @param deployment the deployment of all routes
 * @param from the version to apply the delta to
 * @param to the resulting version; equal to {@code from} when there is no change
 * @param available as in the resulting snapshot
 * @param changed new or different routes
 * @param removed ids of removed replicas
 */
public record RoutingDelta(
    DeploymentId deployment,
    SnapshotVersion from,
    SnapshotVersion to,
    boolean available,
    List<SnapshotReplica> changed,
    List<String> removed) {
  public RoutingDelta {
    if (to.compareTo(from) < 0) {
      throw new IllegalArgumentException("to: " + to + " (expected: not before " + from + ")");
    }
    changed = List.copyOf(changed);
    removed = List.copyOf(removed);
  }

  /** Returns the whole delta of a snapshot. */
  public static RoutingDelta whole(RoutingSnapshot snapshot) {
    return to(snapshot, SnapshotVersion.NONE, snapshot.replicas(), List.of());
  }

  /** Returns the empty delta, for a receiver that already has this newest snapshot. */
  public static RoutingDelta nothing(RoutingSnapshot snapshot) {
    return to(snapshot, snapshot.version(), List.of(), List.of());
  }

  private static RoutingDelta to(
      RoutingSnapshot to,
      SnapshotVersion from,
      List<SnapshotReplica> changed,
      List<String> removed) {
    return new RoutingDelta(to.deployment(), from, to.version(), to.available(), changed, removed);
  }

  /**
   * Returns the delta from one snapshot to a later one of the same deployment; whole when no route
   * is common to both.
   */
  public static RoutingDelta between(RoutingSnapshot from, RoutingSnapshot to) {
    if (!from.deployment().equals(to.deployment())) {
      throw new IllegalArgumentException(
          "deployment: " + to.deployment() + " (expected: " + from.deployment() + ")");
    }
    Map<String, SnapshotReplica> before = new HashMap<>();
    from.replicas().forEach(route -> before.put(route.replica().replicaId(), route));
    List<SnapshotReplica> changed = new ArrayList<>();
    for (SnapshotReplica route : to.replicas()) {
      if (!route.equals(before.remove(route.replica().replicaId()))) {
        changed.add(route);
      }
    }
    if (changed.size() == to.replicas().size()) {
      return whole(to); // no larger, and applicable to any base
    }
    List<String> removed = // in snapshot order: equal changes give equal messages
        from.replicas().stream()
            .map(route -> route.replica().replicaId())
            .filter(before::containsKey)
            .toList();
    return to(to, from.version(), changed, removed);
  }

  /** Returns whether the delta needs no earlier snapshot. */
  public boolean isWhole() {
    return from.equals(SnapshotVersion.NONE);
  }

  /**
   * Returns the resulting snapshot.
   *
   * @throws IllegalArgumentException when {@code base} is not the snapshot that this delta starts
   *     from; a whole delta accepts any base
   */
  public RoutingSnapshot applyTo(RoutingSnapshot base) {
    if (isWhole()) {
      return new RoutingSnapshot(deployment, to, available, changed);
    }
    if (!base.deployment().equals(deployment) || !base.version().equals(from)) {
      throw new IllegalArgumentException(
          "base: %s at %s (expected: %s at %s)"
              .formatted(base.deployment(), base.version(), deployment, from));
    }
    Set<String> gone = new HashSet<>(removed);
    Map<String, SnapshotReplica> routes = new LinkedHashMap<>();
    for (SnapshotReplica route : base.replicas()) {
      if (!gone.contains(route.replica().replicaId())) {
        routes.put(route.replica().replicaId(), route);
      }
    }
    changed.forEach(route -> routes.put(route.replica().replicaId(), route));
    return new RoutingSnapshot(deployment, to, available, List.copyOf(routes.values()));
  }
}
