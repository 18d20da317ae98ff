package dev.berth.routing;

import dev.berth.routing.slots.RoutedReplica;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Choice of the only replica of a call, without a slot. */
public final class ReplicaChoice {
  private ReplicaChoice() {}

  /** Returns a replica that matches, a routable one if there is one; null for none. */
  public static @Nullable RoutedReplica find(
      DeploymentRouter router, Predicate<RoutedReplica> wanted) {
    RoutedReplica found = null;
    for (RoutedReplica each : router.replicas.all) {
      if ((found == null || each.routable()) && wanted.test(each)) {
        found = each;
      }
    }
    return found;
  }

  /** Returns a routable replica at random, an open one if there is one; null for none. */
  public static @Nullable RoutedReplica anyOpen(DeploymentRouter router, RouterLoop loop) {
    List<RoutedReplica> all = router.routable();
    List<RoutedReplica> open = all.stream().filter(each -> each.maxOngoing() > 0).toList();
    List<RoutedReplica> from = open.isEmpty() ? all : open;
    return from.isEmpty() ? null : from.get(loop.ports.random().nextInt(from.size()));
  }
}
