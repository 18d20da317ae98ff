package dev.berth.routing.legs;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.protocol.port.TickTimer;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.GangMember;
import dev.berth.routing.slots.RoutedReplica;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The order and lease times of legs: by deployment name, which is the same order for all callers on
 * every instance. Immutable.
 */
final class GangOrder {
  /** Minimum lease in nanoseconds while other legs wait, so that a renewal arrives in time. */
  private static final long MIN_TTL_NANOS = TimeUnit.SECONDS.toNanos(1);

  final List<GangMember> legs;

  /** Places of the legs of each deployment; group 0 is acquired first. */
  final int[][] groups;

  GangOrder(List<GangMember> legs) {
    this.legs = List.copyOf(legs);
    Map<DeploymentId, List<Integer>> byDeployment =
        new TreeMap<>(
            Comparator.comparing(DeploymentId::application).thenComparing(DeploymentId::name));
    for (int place = 0; place < legs.size(); place++) {
      byDeployment
          .computeIfAbsent(legs.get(place).router().deployment(), id -> new ArrayList<>())
          .add(place);
    }
    this.groups =
        byDeployment.values().stream()
            .map(places -> places.stream().mapToInt(Integer::intValue).toArray())
            .toArray(int[][]::new);
  }

  /** Returns the router of a group's deployment. */
  DeploymentRouter router(int group) {
    return legs.get(groups[group][0]).router();
  }

  /**
   * Checks whether a wait for a group's slots can succeed. More slots than all replicas have never
   * become free. Slots on several nodes are not collected either: the collectors of another
   * instance are invisible here, and two could each hold a slot that the other awaits. A single
   * slot is exempt: it waits for a replica, like any choose.
   *
   * @return the reason why a wait is useless; null if it may succeed
   */
  @Nullable BerthException impossible(int group) {
    int wanted = groups[group].length;
    DeploymentRouter router = router(group);
    List<RoutedReplica> fit =
        router.routable().stream().filter(replica -> replica.info.reservable()).toList();
    int slots = fit.stream().mapToInt(RoutedReplica::maxOngoing).sum();
    long nodes = fit.stream().map(replica -> replica.info.address().node()).distinct().count();
    String most = nodes > 1 ? "1, of replicas on " + nodes + " nodes" : "the " + slots + " it has";
    return wanted == 1 || slots == 0 || (slots >= wanted && nodes == 1)
        ? null
        : router.backPressure(
            "slots requested together of %s: %s (expected: at most %s)"
                .formatted(router.deployment(), wanted, most));
  }

  /** Returns the time to live of a leg's lease, in nanoseconds. */
  static long ttlNanos(GangMember leg) {
    return Math.min(
        Math.max(leg.ttlNanos(), MIN_TTL_NANOS), leg.router().settings().maxReservationTtlNanos());
  }

  /** Returns the renewal interval of all leases, which leaves time for one lost renewal. */
  long renewEveryNanos() {
    long shortest = legs.stream().mapToLong(GangOrder::ttlNanos).min().orElseThrow();
    return Math.max(shortest / 3, TickTimer.TICK_NANOS);
  }

  /** Returns the maximum queue timeout of the legs' deployments. */
  long queueTimeoutNanos() {
    return legs.stream()
        .mapToLong(leg -> leg.router().settings().queueTimeoutNanos())
        .max()
        .orElseThrow();
  }
}
