package dev.berth.node;

import dev.berth.code.LoadedApplication;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.UpstreamArguments;
import dev.berth.config.UpstreamOptions;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.ControllerEvent.UpstreamReport;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.UpstreamShare;
import dev.berth.metrics.MeterRegistration;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaHost;
import dev.berth.view.ReplicaPhase;
import io.vertx.core.Future;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** Replica of this instance, with the progress of its commands. Confined to the control loop. */
final class LocalReplicaState {
  final Replica replica;
  final LoadedApplication code;
  final Future<Void> startOver; // completes when no user code of the start runs
  private final long startedMs;
  final String upstream; // its key; empty for a replica of user code
  DeploymentTarget target; // settings that the replica runs with

  /** Target that is being applied, or will be once the replica runs. */
  @Nullable DeploymentTarget next;

  /** Result of the last change of {@code user_config}. */
  Future<Void> userConfigTaken = Future.succeededFuture();

  @Nullable MeterRegistration shown; // metrics registration of a running replica
  boolean running; // the start succeeded
  boolean stopping; // stopped by a command, or died
  boolean awaitsSlots; // stopped, with requests at its upstream
  boolean wasReset; // its connections, at the end of the instance
  UpstreamShare share = UpstreamShare.NONE; // last applied; in a cluster only

  /** Last report of an upstream's slots. */
  @Nullable UpstreamReport reported;

  LocalReplicaState(
      ReplicaHost.StartingReplica starting,
      LoadedApplication code,
      StartReplica command,
      long startedMs) {
    this.replica = starting.replica();
    this.startOver = starting.over();
    this.code = code;
    this.target = command.target();
    this.upstream = command.upstream();
    this.startedMs = startedMs;
  }

  String id() {
    return replica.replicaId();
  }

  /** Returns whether the replica runs, or will unless a command stops it. */
  boolean isPresent() {
    return running || !stopping;
  }

  /** Returns the number of slots of a replica, or of the upstream that it represents. */
  static int slots(DeploymentTarget target, String upstream) {
    Settings settings = target.settings();
    return upstream.isEmpty()
        ? settings.get(DeploymentConfig.MAX_ONGOING_REQUESTS)
        : entry(settings, upstream).get(UpstreamOptions.MAX_ONGOING_REQUESTS);
  }

  /** Returns the argument of a replica's handlers: an upstream's is its entry. */
  static Map<String, @Nullable Object> userConfig(DeploymentTarget target, String upstream) {
    Settings settings = target.settings();
    return upstream.isEmpty()
        ? settings.get(DeploymentConfig.USER_CONFIG)
        : UpstreamArguments.of(settings, entry(settings, upstream), upstream);
  }

  private static Settings entry(Settings settings, String upstream) {
    return Objects.requireNonNull(
        UpstreamOptions.find(settings, upstream),
        () -> "upstream: " + upstream + " (expected: of the target)");
  }

  /** Returns the entry for routers. One without a share names the upstream's whole maximum. */
  ReplicaInfo info() {
    int max = replica.gate.max(); // 0: routers of other nodes would never send a request
    return info(
        replica.replicaId(),
        upstream,
        target,
        replica.address(),
        max == 0 ? slots(target, upstream) : max,
        replica.wholeBodyBytes(),
        replica.batchedMethods());
  }

  /** Returns a replica's entry for routers: reservable, without a port of its own. */
  private static ReplicaInfo info(
      String id,
      String upstream,
      DeploymentTarget target,
      ReplicaAddress address,
      int maxOngoing,
      int wholeBodyBytes,
      @Nullable String batched) {
    Map<String, String> metadata = new HashMap<>();
    if (!upstream.isEmpty()) {
      metadata.put(ReplicaInfo.UPSTREAM, upstream);
    }
    if (batched != null) {
      metadata.put(ReplicaInfo.BATCHED, batched);
    }
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
        metadata);
  }

  /**
   * Returns the present slots of an upstream. The bit of the drain is read first, so a draining
   * replica never uses more slots than reported.
   */
  UpstreamReport report() {
    boolean draining = replica.slots().draining();
    return new UpstreamReport(
        id(), share, replica.slots().ongoing(), draining, replica.gate.isUnreachable());
  }

  /**
   * Returns the inventory entry of a replica without an address, whose code is being fetched.
   *
   * @param shares whether upstreams have shares
   */
  static Found unbuilt(StartReplica command, long nowMs, boolean shares) {
    DeploymentTarget target = command.target();
    ReplicaAddress nowhere = new ReplicaAddress(command.node(), 0, -1, 0);
    int slots = slots(target, command.upstream());
    return new Found(
        info(command.replicaId(), command.upstream(), target, nowhere, slots, 0, null),
        target,
        null,
        ReplicaPhase.STARTING,
        true,
        false,
        nowMs,
        command.upstream(),
        "",
        shares && !command.upstream().isEmpty()
            ? new UpstreamReport(command.replicaId(), UpstreamShare.NONE, 0, false)
            : null);
  }

  /** Returns the inventory entry of the replica for a new controller. */
  Found inventoryEntry(boolean shares) {
    ReplicaPhase phase;
    if (!running) {
      phase = ReplicaPhase.STARTING;
    } else if (stopping || replica.slots().draining()) {
      phase = ReplicaPhase.DRAINING;
    } else {
      phase = next == null ? ReplicaPhase.RUNNING : ReplicaPhase.UPDATING;
    }
    return new Found(
        info(),
        target,
        next,
        phase,
        replica.healthy(),
        userConfigTaken.failed(),
        startedMs,
        upstream,
        upstream.isEmpty() ? "" : replica.gate.text(),
        shares && !upstream.isEmpty() ? report() : null);
  }
}
