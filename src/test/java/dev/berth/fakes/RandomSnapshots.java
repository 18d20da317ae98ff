package dev.berth.fakes;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.RoutingSnapshot.SnapshotReplica;
import dev.berth.protocol.RoutingSnapshot.SnapshotVersion;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/** Snapshots of deployments, and what may become of them. */
public final class RandomSnapshots {
  private final RandomGenerator random;
  private int replicas;

  public RandomSnapshots(RandomGenerator random) {
    this.random = random;
  }

  /** A routable replica with the next number. */
  public SnapshotReplica route(DeploymentId deployment) {
    int number = ++replicas;
    return new SnapshotReplica(
        Replicas.info(
            deployment + "#" + number, deployment, new ReplicaAddress("n1", 0, number, number), 4),
        true);
  }

  /** A snapshot of so many new replicas. */
  public RoutingSnapshot of(DeploymentId deployment, SnapshotVersion version, int replicas) {
    List<SnapshotReplica> routes = new ArrayList<>();
    for (int i = 0; i < replicas; i++) {
      routes.add(route(deployment));
    }
    return new RoutingSnapshot(deployment, version, true, routes);
  }

  /** The snapshot with some replicas gone, some draining or back, some new ones. */
  public RoutingSnapshot changed(RoutingSnapshot from, SnapshotVersion version) {
    List<SnapshotReplica> routes = new ArrayList<>();
    for (SnapshotReplica route : from.replicas()) {
      switch (random.nextInt(6)) {
        case 0 -> {}
        case 1 -> routes.add(new SnapshotReplica(route.replica(), !route.routable()));
        default -> routes.add(route);
      }
    }
    for (int joining = random.nextInt(3); joining > 0; joining--) {
      routes.add(random.nextInt(routes.size() + 1), route(from.deployment()));
    }
    return new RoutingSnapshot(from.deployment(), version, random.nextInt(8) != 0, routes);
  }
}
