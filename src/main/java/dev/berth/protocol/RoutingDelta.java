package dev.berth.protocol;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.RoutingSnapshot.Route;
import dev.berth.protocol.RoutingSnapshot.Version;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * How to come from one {@link RoutingSnapshot} of a deployment to a later one: as large as what
 * changed, however many replicas there are. One from {@link Version#NONE} is whole: it needs no
 * snapshot before it. The order of routes has no meaning and is not kept.
 *
 * @param deployment whose replicas these are
 * @param from the version it can be applied to
 * @param to the version it leads to; equal to {@code from} when it says that nothing changed
 * @param available as in the snapshot it leads to
 * @param changed routes that are new or differ
 * @param removed ids of replicas that are gone
 */
public record RoutingDelta(
    DeploymentId deployment,
    Version from,
    Version to,
    boolean available,
    List<Route> changed,
    List<String> removed) {
  public RoutingDelta {
    if (to.compareTo(from) < 0) {
      throw new IllegalArgumentException("to: " + to + " (expected: not before " + from + ")");
    }
    changed = List.copyOf(changed);
    removed = List.copyOf(removed);
  }

  /** All of a snapshot. */
  public static RoutingDelta whole(RoutingSnapshot snapshot) {
    return to(snapshot, Version.NONE, snapshot.replicas(), List.of());
  }

  /** To who holds this snapshot: it is the newest. */
  public static RoutingDelta nothing(RoutingSnapshot snapshot) {
    return to(snapshot, snapshot.version(), List.of(), List.of());
  }

  private static RoutingDelta to(
      RoutingSnapshot to, Version from, List<Route> changed, List<String> removed) {
    return new RoutingDelta(to.deployment(), from, to.version(), to.available(), changed, removed);
  }

  /** From one snapshot to a later one of the same deployment; whole when no route stays. */
  public static RoutingDelta between(RoutingSnapshot from, RoutingSnapshot to) {
    if (!from.deployment().equals(to.deployment())) {
      throw new IllegalArgumentException(
          "deployment: " + to.deployment() + " (expected: " + from.deployment() + ")");
    }
    Map<String, Route> before = new HashMap<>();
    from.replicas().forEach(route -> before.put(route.replica().replicaId(), route));
    List<Route> changed = new ArrayList<>();
    for (Route route : to.replicas()) {
      if (!route.equals(before.remove(route.replica().replicaId()))) {
        changed.add(route);
      }
    }
    if (changed.size() == to.replicas().size()) {
      return whole(to); // no larger, and it fits whatever is held
    }
    List<String> removed = // in the order of the snapshot: the same change is the same message
        from.replicas().stream()
            .map(route -> route.replica().replicaId())
            .filter(before::containsKey)
            .toList();
    return to(to, from.version(), changed, removed);
  }

  /** Whether it needs no snapshot before it. */
  public boolean isWhole() {
    return from.equals(Version.NONE);
  }

  /**
   * The snapshot it leads to.
   *
   * @throws IllegalArgumentException when {@code base} is not the snapshot it starts from; anything
   *     will do for one that is whole
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
    Map<String, Route> routes = new LinkedHashMap<>();
    for (Route route : base.replicas()) {
      if (!gone.contains(route.replica().replicaId())) {
        routes.put(route.replica().replicaId(), route);
      }
    }
    changed.forEach(route -> routes.put(route.replica().replicaId(), route));
    return new RoutingSnapshot(deployment, to, available, List.copyOf(routes.values()));
  }
}
