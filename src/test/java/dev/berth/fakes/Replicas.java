package dev.berth.fakes;

import dev.berth.api.DeploymentId;
import dev.berth.api.HandlerFactory;
import dev.berth.metrics.LatencyBuckets;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.ReplicaDirectory;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.replica.HealthCheckSettings;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaLoop;
import dev.berth.replica.ReplicaLoopBinding;
import dev.berth.replica.ReplicaSpec;
import dev.berth.replica.slots.SlotLedger;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Replicas of which a test says little: as they are to start, and as routers are told of them. */
public final class Replicas {
  /** Ray Serve's defaults: every 10 s, at most 30 s each. */
  public static final HealthCheckSettings HEALTH_CHECKS =
      new HealthCheckSettings(TimeUnit.SECONDS.toNanos(10), TimeUnit.SECONDS.toNanos(30));

  private Replicas() {}

  public static ReplicaSpec spec(
      String id, DeploymentId deployment, long epoch, int slots, HandlerFactory factory) {
    return new ReplicaSpec(
        id,
        deployment,
        epoch,
        slots,
        Map.of(),
        factory,
        null,
        HEALTH_CHECKS,
        new LatencyBuckets(),
        false,
        null,
        "");
  }

  /** A seat on a loop, for handlers that call no other deployment. */
  public static ReplicaLoopBinding seat(ReplicaLoop loop) {
    return new ReplicaLoopBinding(
        loop,
        name -> {
          throw new IllegalArgumentException("deployment: " + name + " (expected: none here)");
        });
  }

  public static ReplicaInfo info(
      String id, DeploymentId deployment, ReplicaAddress address, int slots) {
    return info(id, deployment, address, slots, true, null);
  }

  public static ReplicaInfo info(
      String id,
      DeploymentId deployment,
      ReplicaAddress address,
      int slots,
      boolean reservable,
      @Nullable String zone) {
    return new ReplicaInfo(
        id,
        deployment,
        address,
        slots,
        0,
        reservable,
        false,
        null,
        OptionalInt.empty(),
        zone,
        Map.of());
  }

  /** The same, with a handler that takes bodies whole. */
  public static ReplicaInfo gathering(ReplicaInfo of, int wholeBodyBytes) {
    return new ReplicaInfo(
        of.replicaId(),
        of.deployment(),
        of.address(),
        of.maxOngoing(),
        wholeBodyBytes,
        of.reservable(),
        of.spread(),
        of.host(),
        of.port(),
        of.zone(),
        of.metadata());
  }

  public static ReplicaInfo info(Replica of) {
    ReplicaInfo plain =
        info(of.replicaId(), of.deployment(), of.address(), of.slots().maxOngoing());
    String batched = of.batchedMethods();
    return batched == null ? plain : batching(plain, batched);
  }

  private static ReplicaInfo batching(ReplicaInfo of, String methods) {
    return new ReplicaInfo(
        of.replicaId(),
        of.deployment(),
        of.address(),
        of.maxOngoing(),
        of.wholeBodyBytes(),
        of.reservable(),
        of.spread(),
        of.host(),
        of.port(),
        of.zone(),
        Map.of(ReplicaInfo.BATCHED, methods));
  }

  /** The first snapshot of a deployment: these take requests. */
  public static RoutingSnapshot snapshot(DeploymentId deployment, ReplicaInfo... replicas) {
    return new RoutingSnapshot(
        deployment,
        new RoutingSnapshot.SnapshotVersion(1, 1),
        true,
        Stream.of(replicas).map(each -> new RoutingSnapshot.SnapshotReplica(each, true)).toList());
  }

  /** Replicas of this instance by their ordinal. */
  public static ReplicaDirectory directory(List<SlotLedger> ledgers) {
    return new ReplicaDirectory() {
      @Override
      public Slots slotsOf(ReplicaAddress address) {
        return ledgers.get(address.ordinal());
      }

      @Override
      public void observe(ReplicaAddress address, SlotObserver observer) {
        ledgers.get(address.ordinal()).observe(observer);
      }
    };
  }
}
