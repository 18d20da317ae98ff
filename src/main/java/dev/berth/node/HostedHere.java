package dev.berth.node;

import dev.berth.code.LoadedApplication;
import dev.berth.config.DeploymentConfig;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.DeploymentTarget;
import dev.berth.metrics.Registration;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaHost;
import dev.berth.view.ReplicaPhase;
import io.vertx.core.Future;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** One replica of this instance, and how far it is with its commands. The control loop's. */
final class HostedHere {
  final Replica replica;
  final LoadedApplication code;
  final Future<Void> startOver; // no user code of its start runs any more
  private final long startedMs;
  DeploymentTarget target; // it runs with

  /** What it is being given, or will be when it runs. */
  @Nullable DeploymentTarget next;

  /** The last time that its user_config changed. */
  Future<Void> userConfigTaken = Future.succeededFuture();

  @Nullable Registration shown; // in the meters, once it runs
  boolean running; // it came up
  boolean stopping; // it was told to stop, or died

  HostedHere(
      ReplicaHost.Starting starting,
      LoadedApplication code,
      DeploymentTarget target,
      long startedMs) {
    this.replica = starting.replica();
    this.startOver = starting.over();
    this.code = code;
    this.target = target;
    this.startedMs = startedMs;
  }

  String id() {
    return replica.replicaId();
  }

  ReplicaInfo info() {
    return info(
        replica.replicaId(),
        target,
        replica.address(),
        replica.slots().maxOngoing(),
        replica.wholeBodyBytes());
  }

  /** Returns what routers know of a replica here: it is reservable, and has no port of its own. */
  private static ReplicaInfo info(
      String id,
      DeploymentTarget target,
      ReplicaAddress address,
      int maxOngoing,
      int wholeBodyBytes) {
    return new ReplicaInfo(
        id,
        target.id(),
        address,
        maxOngoing,
        wholeBodyBytes,
        true,
        InstanceReplicas.isSpread(target),
        null,
        OptionalInt.empty(),
        null,
        Map.of());
  }

  /**
   * Returns the inventory entry of a replica whose code is being fetched: it has no address yet.
   */
  static Found unbuilt(StartReplica command, long nowMs) {
    DeploymentTarget target = command.target();
    ReplicaAddress nowhere = new ReplicaAddress(command.node(), 0, -1, 0);
    int slots = target.settings().get(DeploymentConfig.MAX_ONGOING_REQUESTS);
    return new Found(
        info(command.replicaId(), target, nowhere, slots, 0),
        target,
        null,
        ReplicaPhase.STARTING,
        true,
        false,
        nowMs);
  }

  /** For a controller that starts anew. */
  Found found() {
    ReplicaPhase phase;
    if (!running) {
      phase = ReplicaPhase.STARTING;
    } else if (stopping || replica.slots().draining()) {
      phase = ReplicaPhase.DRAINING;
    } else {
      phase = next == null ? ReplicaPhase.RUNNING : ReplicaPhase.UPDATING;
    }
    return new Found(
        info(), target, next, phase, replica.healthy(), userConfigTaken.failed(), startedMs);
  }
}
