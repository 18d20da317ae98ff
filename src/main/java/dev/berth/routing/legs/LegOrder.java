package dev.berth.routing.legs;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.routing.DeadlineRing;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.Leg;
import dev.berth.routing.slots.RoutedReplica;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * In which order legs are taken, and for how long: by deployment, in the order of names, which is
 * the same for everyone and on every instance. Immutable.
 */
final class LegOrder {
  /** The shortest lease while others wait: a renewal must come in time. */
  private static final long MIN_TTL_NANOS = TimeUnit.SECONDS.toNanos(1);

  final List<Leg> legs;

  /** The places of the legs of each deployment, the first to be taken being 0. */
  final int[][] groups;

  LegOrder(List<Leg> legs) {
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

  /** The router of their deployment. */
  DeploymentRouter router(int group) {
    return legs.get(groups[group][0]).router();
  }

  /**
   * More slots than all replicas have will not come free, however long one waits. Nor are slots of
   * several nodes collected: who collects elsewhere is not seen, and each may hold what the other
   * waits for. Of one slot neither is asked: it waits for a replica to come, as any choose does.
   *
   * @return why there is no use in waiting; null when there may be
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
            "slots wanted together of %s: %s (expected: at most %s)"
                .formatted(router.deployment(), wanted, most));
  }

  /** The time to live of a leg's lease. */
  static long ttlNanos(Leg leg) {
    return Math.min(
        Math.max(leg.ttlNanos(), MIN_TTL_NANOS), leg.router().settings().maxReservationTtlNanos());
  }

  /** How often all leases must be renewed, so that each is in time and one may be lost. */
  long renewEveryNanos() {
    long shortest = legs.stream().mapToLong(LegOrder::ttlNanos).min().orElseThrow();
    return Math.max(shortest / 3, DeadlineRing.TICK_NANOS);
  }

  /** The longest that any of their deployments lets requests wait. */
  long queueTimeoutNanos() {
    return legs.stream()
        .mapToLong(leg -> leg.router().settings().queueTimeoutNanos())
        .max()
        .orElseThrow();
  }
}
