package dev.berth.controller;

import dev.berth.config.DeploymentConfig;
import dev.berth.config.UpstreamOptions;
import dev.berth.controller.ControllerAction.AnnounceDeployment;
import dev.berth.controller.ControllerAction.AnnounceReplica;
import dev.berth.controller.ControllerAction.Publish;
import dev.berth.controller.ControllerAction.ReconfigureReplica;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerEvent.OfReplica;
import dev.berth.controller.Reconciler.ReconcileDecision;
import dev.berth.controller.RolloutProgress.ReplicaFailure;
import dev.berth.controller.autoscaling.ScalingDecision;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.view.ReplicaPhase;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * The replicas of all deployments. Records observed events, calls the {@link Reconciler} and turns
 * its steps into commands. Confined to the controller's loop.
 *
 * <p>Over 500 lines: all events that move a {@link ReplicaRecord} from phase to phase stand
 * together, as each depends on states that others leave. Decisions are in {@link Reconciler} and
 * {@link RolloutProgress}, lasting state in {@link DeploymentState} and {@link ReplicaRecord}.
 */
final class DeploymentStates {
  /** Maximum number of remembered ended replicas, which late inventories cannot revive. */
  static final int MAX_ENDED = 10_000;

  /** Delay in nanoseconds after too many decisions in a pass: the loop has other work. */
  private static final long RESUME_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Grace period of an unknown replica that may have accepted requests. */
  private static final Duration STRANGERS_GRACE = Duration.ofSeconds(20);

  private final Epoch epoch;
  private final ControllerPorts ports;
  private final NodePool hosts;
  private final AutoscaledDeployments autoscaled;
  private final UpstreamKeys upstreams;
  final UpstreamShares shares;
  final UpstreamNames names = new UpstreamNames();
  final UpstreamHandovers handovers;
  private final Map<String, ReplicaRecord> replicas = new HashMap<>(); // by replica id
  private final TreeSet<DeploymentState> waking = new TreeSet<>(DeploymentState.BY_WAKE);
  private final Set<String> ended = new LinkedHashSet<>(); // replica ids, oldest first
  private long counter; // number of the last snapshot

  DeploymentStates(
      ControllerPorts ports,
      NodePool hosts,
      AutoscaledDeployments autoscaled,
      UpstreamKeys upstreams) {
    this.epoch = ports.epoch();
    this.ports = ports;
    this.hosts = hosts;
    this.autoscaled = autoscaled;
    this.upstreams = upstreams;
    this.handovers = new UpstreamHandovers(epoch, hosts);
    this.shares = new UpstreamShares(epoch, hosts, ports.leaseMillis());
  }

  // --- deployments ---

  DeploymentState make(ApplicationState application, DeploymentTarget target, ReconcilePass turn) {
    DeploymentState deployment = new DeploymentState(application, target);
    application.deployments.put(deployment.id, deployment);
    turn.add(new ControllerAction.Configure(epoch, target));
    turn.touch(deployment);
    return deployment;
  }

  /**
   * Sets the target of a deployment, which may be unchanged.
   *
   * @param deployed false when only the number of replicas was set
   */
  void retarget(
      DeploymentState deployment, DeploymentTarget target, boolean deployed, ReconcilePass turn) {
    boolean revived = deployment.deleting;
    deployment.deleting = false;
    if (revived) {
      deployment.progress = RolloutProgress.FIRST;
    }
    deployment.progress = deployment.progress.retarget(deployment.target, target, deployed);
    if (!deployment.target.settings().equals(target.settings()) || revived) {
      turn.add(new ControllerAction.Configure(epoch, target));
    }
    deployment.target = target;
    turn.touch(deployment);
  }

  /** Sets the target of a found deployment, which is known only now. */
  void claim(DeploymentState deployment, DeploymentTarget target, ReconcilePass turn) {
    deployment.held = false;
    deployment.obsolete = false;
    deployment.target = target;
    DeploymentTarget kept = deployment.kept;
    deployment.progress =
        kept == null ? RolloutProgress.FIRST : RolloutProgress.FIRST.recalled(kept, target);
    deployment.replicas.values().stream()
        .filter(ReplicaRecord::isServing)
        .forEach(DeploymentStates::onStarted);
    turn.add(new ControllerAction.Configure(epoch, target));
    turn.touch(deployment);
  }

  /** Drains and stops all replicas of a deployment, which is removed after the last one. */
  void delete(DeploymentState deployment, ReconcilePass turn) {
    if (!deployment.deleting) {
      deployment.deleting = true;
      deployment.held = false;
      deployment.progress = deployment.progress.deleted();
      turn.touch(deployment);
    }
  }

  /** Decides and commands the next steps of a deployment that has changed. */
  void settle(DeploymentState deployment, ReconcilePass turn) {
    if (deployment.application.deployments.get(deployment.id) != deployment) {
      return; // it was removed
    }
    announce(deployment, turn);
    deployment.replicas.values().forEach(shares::touch);
    long wakeNanos = Long.MAX_VALUE;
    if (!deployment.held) {
      long looks = follow(deployment, turn);
      for (ReplicaRecord each : deployment.replicas.values()) {
        each.ongoing = ports.ongoing().applyAsInt(each.id);
      }
      names.want(deployment, turn);
      ReconcileDecision decision = decide(deployment, turn);
      decision.steps().forEach(step -> take(deployment, step, turn));
      deployment.progress = decision.progress();
      deployment.lacks = decision.lacks();
      deployment.wanted = decision.wanted();
      wakeNanos = Math.min(looks, decision.wakeNanos());
      announce(deployment, turn);
    }
    repeat(deployment, turn);
    publish(deployment, turn);
    remember(deployment, turn);
    wakeNanos = Math.min(wakeNanos, ownWakeNanos(deployment, turn.nowNanos));
    if (turn.isEnough(deployment)) {
      wakeNanos = Math.min(wakeNanos, turn.nowNanos + RESUME_NANOS);
    }
    wakeAt(deployment, wakeNanos);
    turn.touch(deployment.application);
  }

  private ReconcileDecision decide(DeploymentState deployment, ReconcilePass turn) {
    Placement placement = hosts.placement(deployment, turn.nowNanos);
    return !deployment.deleting && UpstreamOptions.isGiven(deployment.target.settings())
        ? UpstreamReconciler.decide(
            deployment,
            placement,
            names,
            key -> hosts.areNamed() || upstreams.isFreeFor(key, deployment, turn),
            turn.nowNanos)
        : Reconciler.decide(deployment, placement, turn.nowNanos);
  }

  /**
   * Sets the number of replicas by load where the deployment autoscales.
   *
   * @return time of the next decision without new reports
   */
  private long follow(DeploymentState deployment, ReconcilePass turn) {
    ScalingDecision decision = autoscaled.decide(deployment, turn);
    if (decision == null) {
      return Long.MAX_VALUE;
    }
    if (decision.changes()) {
      retarget(deployment, deployment.target.withReplicas(decision.replicas()), false, turn);
      deployment.progress = deployment.progress.with(deployment.progress.standing().byLoad());
    }
    return Math.min(decision.wakeNanos(), autoscaled.nextAskNanos(deployment));
  }

  /** Schedules the next decision of a deployment at the given time, at the latest. */
  void lookAt(DeploymentState deployment, long nanos, ReconcilePass turn) {
    if (nanos - turn.nowNanos <= 0) {
      turn.touch(deployment);
    } else if (deployment.wakeNanos == Long.MAX_VALUE || nanos - deployment.wakeNanos < 0) {
      wakeAt(deployment, nanos);
    }
  }

  /** Removes a deployment that has no replicas and no target. */
  void remove(DeploymentState deployment, ReconcilePass turn) {
    wakeAt(deployment, Long.MAX_VALUE);
    names.forget(deployment);
    deployment.application.deployments.remove(deployment.id);
    turn.add(new ControllerAction.Forget(epoch, deployment.id));
  }

  private void take(DeploymentState deployment, ReconcileStep step, ReconcilePass turn) {
    if (step instanceof ReconcileStep.StartStep start) {
      String id = ports.replicaIds().apply(deployment.id);
      long nowMs = ports.wallMillis().getAsLong();
      ReplicaRecord replica =
          new ReplicaRecord(
              deployment,
              id,
              start.node(),
              start.target(),
              ReplicaPhase.STARTING,
              nowMs,
              start.upstream());
      add(replica, turn);
      command(replica, turn);
    } else if (step instanceof ReconcileStep.ReconfigureStep reconfigure) {
      ReplicaRecord replica = reconfigure.replica();
      replica.next = reconfigure.target();
      to(replica, ReplicaPhase.UPDATING, "", turn);
      command(replica, turn);
    } else if (step instanceof ReconcileStep.StopStep stop) {
      ReplicaRecord replica = stop.replica();
      replica.scaledDown = stop.scaledDown();
      replica.grace = stop.grace();
      to(replica, ReplicaPhase.STOPPING, stop.reason(), turn);
      command(replica, turn);
    }
  }

  private void add(ReplicaRecord replica, ReconcilePass turn) {
    replica.deployment.replicas.put(replica.id, replica);
    replicas.put(replica.id, replica);
    hosts.onReplicaAdded(replica);
    upstreams.onReplicaAdded(replica);
    shares.onReplicaAdded(replica);
    names.onReplicaAdded(replica);
    announce(replica, "", turn);
  }

  /** Sends or resends the command of a replica. Commands are idempotent: a repeat is harmless. */
  private void command(ReplicaRecord replica, ReconcilePass turn) {
    replica.commandedNanos = turn.nowNanos;
    DeploymentTarget next = replica.next;
    if (replica.phase == ReplicaPhase.STARTING) {
      turn.add(new StartReplica(epoch, replica.node, replica.target, replica.id, replica.upstream));
    } else if (replica.phase == ReplicaPhase.UPDATING && next != null) {
      turn.add(new ReconfigureReplica(epoch, replica.node, replica.id, next));
    } else {
      turn.add(new StopReplica(epoch, replica.node, replica.id, replica.grace, replica.reason));
    }
  }

  private void repeat(DeploymentState deployment, ReconcilePass turn) {
    for (ReplicaRecord replica : deployment.replicas.values()) {
      long due = replica.repeatNanos();
      if (due != Long.MAX_VALUE && due - turn.nowNanos <= 0) { // a nano clock may be negative
        command(replica, turn);
      }
    }
  }

  private void publish(DeploymentState deployment, ReconcilePass turn) {
    RoutingSnapshot last = deployment.published;
    List<RoutingSnapshot.SnapshotReplica> routes = deployment.routes(turn.nowNanos);
    boolean available = deployment.isAvailable();
    if (last == null || last.available() != available || !last.replicas().equals(routes)) {
      RoutingSnapshot snapshot =
          new RoutingSnapshot(
              deployment.id,
              new RoutingSnapshot.SnapshotVersion(epoch.number(), ++counter),
              available,
              routes);
      deployment.published = snapshot;
      turn.add(new Publish(snapshot));
    }
  }

  /** Stores the complete target on the instances: a later controller may find no replica of it. */
  private void remember(DeploymentState deployment, ReconcilePass turn) {
    DeploymentTarget complete = deployment.progress.complete();
    if (!deployment.held && !Objects.equals(complete, deployment.kept)) {
      deployment.kept = complete;
      turn.add(new ControllerAction.Remember(epoch, deployment.id, complete));
    }
  }

  // --- announcements ---

  private void announce(DeploymentState deployment, ReconcilePass turn) {
    DeploymentCondition standing = deployment.progress.standing();
    if (!standing.equals(deployment.announced)) {
      deployment.announced = standing;
      turn.add(
          new AnnounceDeployment(
              deployment.id,
              standing.status(),
              standing.trigger(),
              deployment.target.version(),
              standing.message()));
    }
  }

  private void to(ReplicaRecord replica, ReplicaPhase phase, String reason, ReconcilePass turn) {
    if (replica.phase != phase) {
      replica.phase = phase;
      replica.reason = reason;
      announce(replica, reason, turn);
      turn.touch(replica.deployment);
    }
  }

  private static void announce(ReplicaRecord replica, String reason, ReconcilePass turn) {
    turn.add(
        new AnnounceReplica(
            replica.id, replica.deployment.id, replica.version(), replica.phase, reason));
  }

  // --- observed events ---

  boolean knows(String replicaId) {
    return replicas.containsKey(replicaId);
  }

  /** Returns the replicas of an instance, including those that are to start there. */
  List<ReplicaRecord> on(String node) {
    return replicas.values().stream().filter(each -> each.node.equals(node)).toList();
  }

  /** Handles an event of a replica. */
  void on(OfReplica event, ReconcilePass turn) {
    ReplicaRecord replica = replicas.get(event.replicaId());
    if (replica == null) {
      onStranger(event, turn);
    } else if (event instanceof ControllerEvent.ReplicaRunning running) {
      onRunning(replica, running.replica(), turn);
    } else if (event instanceof ControllerEvent.ReplicaWaits waits) {
      onWaits(replica, waits.reason());
      handovers.onReach(replica, waits.unreachable(), turn.nowNanos);
    } else if (event instanceof ControllerEvent.UpstreamProbed probed) {
      handovers.onProbed(probed, turn);
    } else if (event instanceof ControllerEvent.ReplicaFailed failed) {
      onFailed(replica, failed.reason(), turn);
    } else if (event instanceof ControllerEvent.ReplicaReconfigured reconfigured) {
      onReconfigured(replica, reconfigured.version(), turn);
    } else if (event instanceof ControllerEvent.ReconfigureFailed failed) {
      onReconfigureFailed(replica, failed, turn);
    } else if (event instanceof ControllerEvent.ReplicaDraining) {
      onDraining(replica, turn);
    } else if (event instanceof ControllerEvent.ReplicaHealth health) {
      onHealth(replica, health, turn);
    } else if (event instanceof ControllerEvent.ReplicaSuspect suspect) {
      onSuspect(replica, suspect, turn);
    } else if (event instanceof ControllerEvent.ReplicaStopped) {
      onStopped(replica, turn);
    }
  }

  private static void onWaits(ReplicaRecord replica, String reason) {
    if (!replica.upstream.isEmpty()) {
      replica.waits = reason;
    } else if (replica.phase == ReplicaPhase.STARTING || replica.phase == ReplicaPhase.RUNNING) {
      replica.reason = reason;
    }
  }

  private void onStranger(OfReplica event, ReconcilePass turn) {
    if (event instanceof ControllerEvent.ReplicaRunning running) {
      stranger(running.replica(), turn);
    } else if (event instanceof ControllerEvent.ReplicaFailed
        || event instanceof ControllerEvent.ReplicaStopped) {
      recordEnded(event.replicaId());
      shares.onReplicaRemoved(event.replicaId(), turn.nowNanos);
    }
  }

  /** Stops an unknown replica. Reports of a lost instance are ignored. */
  void stranger(ReplicaInfo found, ReconcilePass turn) {
    String node = found.address().node();
    if (hosts.has(node)) {
      String reason = "no longer wanted";
      turn.add(new StopReplica(epoch, node, found.replicaId(), STRANGERS_GRACE, reason));
    }
  }

  private void onRunning(ReplicaRecord replica, ReplicaInfo found, ReconcilePass turn) {
    if (replica.phase == ReplicaPhase.STOPPING && replica.info == null) {
      // The replica had started before it received the stop command.
      command(replica, turn);
    } else if (replica.phase == ReplicaPhase.STARTING) {
      replica.info = found;
      runs(replica, turn);
    }
  }

  private void runs(ReplicaRecord replica, ReconcilePass turn) {
    to(replica, replica.next == null ? ReplicaPhase.RUNNING : ReplicaPhase.UPDATING, "", turn);
    onStarted(replica);
  }

  private static void onStarted(ReplicaRecord replica) {
    DeploymentState deployment = replica.deployment;
    deployment.onStarted(replica);
    deployment.progress =
        deployment.progress.afterStart(replica.target, deployment.target, deployment.othersServe());
  }

  private void onReconfigured(
      ReplicaRecord replica, DeploymentVersion version, ReconcilePass turn) {
    DeploymentTarget next = replica.next;
    if (next == null || !next.version().equals(version)) {
      return; // reply to an earlier command
    }
    replica.target = next;
    replica.next = null;
    replica.refused = false;
    if (replica.phase == ReplicaPhase.UPDATING) {
      to(replica, ReplicaPhase.RUNNING, "", turn);
      onStarted(replica);
    }
  }

  private void onReconfigureFailed(
      ReplicaRecord replica, ControllerEvent.ReconfigureFailed event, ReconcilePass turn) {
    if (replica.phase != ReplicaPhase.UPDATING || !replica.version().equals(event.version())) {
      return;
    }
    String reason = "reconfigure: " + event.reason();
    fail(replica, ReplicaFailure.RECONFIGURE, reason, turn);
    replica.next = null;
    replica.refused = true;
    to(replica, ReplicaPhase.RUNNING, reason, turn);
  }

  private void onDraining(ReplicaRecord replica, ReconcilePass turn) {
    if (replica.isActive() || replica.phase == ReplicaPhase.STOPPING) {
      if (replica.isActive()) {
        replica.grace =
            replica.deployment.target.settings().get(DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S);
      }
      replica.commandedNanos = turn.nowNanos;
      to(replica, ReplicaPhase.DRAINING, replica.reason, turn);
    }
  }

  private void onHealth(
      ReplicaRecord replica, ControllerEvent.ReplicaHealth event, ReconcilePass turn) {
    if (replica.healthy == event.healthy()) {
      return;
    }
    boolean was = replica.isSick();
    replica.healthy = event.healthy();
    if (replica.isActive() && was != replica.isSick()) { // also before the start is reported
      replica.reason = event.reason();
      // An upstream that is down proves nothing about its version, and is not replaced.
      if (replica.isServing() && replica.isSick() && replica.upstream.isEmpty()) {
        fail(replica, ReplicaFailure.HEALTH, event.reason(), turn);
      }
      turn.touch(replica.deployment);
    }
  }

  private void onSuspect(
      ReplicaRecord replica, ControllerEvent.ReplicaSuspect event, ReconcilePass turn) {
    if (replica.isServing()) {
      OutlierState before = replica.suspicion;
      replica.suspicion =
          event.suspect() ? before.suspected(turn.nowNanos) : before.cleared(turn.nowNanos);
      if (!before.equals(replica.suspicion)) {
        replica.reason = replica.isSick() ? replica.reason : event.reason();
        turn.touch(replica.deployment);
      }
    }
  }

  private void onFailed(ReplicaRecord replica, String reason, ReconcilePass turn) {
    if (replica.info != null) {
      return; // it ran: a repeated or late report
    }
    if (replica.phase == ReplicaPhase.STARTING) {
      fail(replica, ReplicaFailure.START, reason, turn);
      replica.deployment.remember(replica, reason);
    }
    removeReplica(replica, reason, turn);
  }

  private void onStopped(ReplicaRecord replica, ReconcilePass turn) {
    String reason = replica.reason;
    if (replica.isActive()) {
      boolean ran = replica.phase != ReplicaPhase.STARTING;
      reason = ran ? "it ended" : "it ended during its start";
      if (ran && !replica.upstream.isEmpty()) { // an ended lease is no fault of its version
        replica.deployment.progress =
            replica.deployment.progress.with(
                replica.deployment.progress.standing().lacking(reason));
      } else if (!replica.isSick()) {
        fail(replica, ran ? ReplicaFailure.HEALTH : ReplicaFailure.START, reason, turn);
      }
      replica.deployment.remember(replica, reason);
    }
    removeReplica(replica, reason, turn);
  }

  private void fail(ReplicaRecord replica, ReplicaFailure how, String reason, ReconcilePass turn) {
    DeploymentState deployment = replica.deployment;
    if (how == ReplicaFailure.START) {
      deployment.onStartFailed(replica, turn.nowNanos);
    }
    deployment.progress =
        deployment.progress.afterFailure(
            how,
            replica.version(),
            deployment.target,
            deployment.othersServe(),
            reason,
            turn.nowNanos,
            ports.chance().getAsDouble());
  }

  /** Removes a replica that was lost with its instance; its version is not blamed. */
  void onLostWithNode(ReplicaRecord replica, String reason, ReconcilePass turn) {
    if (replica.isActive()) {
      DeploymentState deployment = replica.deployment;
      deployment.progress =
          deployment.progress.with(deployment.progress.standing().lacking(reason));
      deployment.remember(replica, reason);
    }
    removeReplica(replica, reason, turn);
  }

  private void removeReplica(ReplicaRecord replica, String reason, ReconcilePass turn) {
    replicas.remove(replica.id);
    replica.deployment.replicas.remove(replica.id);
    hosts.onReplicaRemoved(replica);
    upstreams.onReplicaRemoved(replica, turn);
    shares.onReplicaRemoved(replica.id, turn.nowNanos);
    handovers.onReplicaRemoved(replica.id);
    recordEnded(replica.id);
    to(replica, ReplicaPhase.STOPPED, reason, turn);
  }

  private void recordEnded(String replicaId) {
    ended.add(replicaId);
    if (ended.size() > MAX_ENDED) {
      ended.remove(ended.iterator().next());
    }
  }

  /** Records the target that was complete under an earlier controller. */
  void recall(DeploymentState deployment, DeploymentTarget complete, ReconcilePass turn) {
    if (deployment.kept != null && complete.revision() < deployment.kept.revision()) {
      return; // the instance had not received the last one
    }
    deployment.kept = complete;
    if (!deployment.held
        && !deployment.deleting
        && deployment.progress.complete() == null) { // late report
      deployment.progress = deployment.progress.recalled(complete, deployment.target);
      turn.touch(deployment);
    }
  }

  /** Adopts a running replica that another controller started. */
  void adopt(
      DeploymentState deployment, ControllerEvent.Inventory.Found found, ReconcilePass turn) {
    String id = found.info().replicaId();
    if (replicas.containsKey(id) || ended.contains(id)) {
      return;
    }
    ReplicaRecord replica =
        new ReplicaRecord(
            deployment,
            id,
            found.info().address().node(),
            found.target(),
            ReplicaPhase.RECOVERING,
            found.startedMs(),
            found.upstream());
    boolean leaves =
        found.phase() == ReplicaPhase.DRAINING || found.phase() == ReplicaPhase.STOPPING;
    replica.next = leaves ? null : found.next();
    replica.healthy = found.healthy();
    replica.refused = found.refused();
    replica.waits = found.waits();
    handovers.onReach(replica, found.isUnreachable(), turn.nowNanos);
    replica.commandedNanos = turn.nowNanos;
    add(replica, turn);
    turn.touch(deployment);
    switch (found.phase()) {
      case STARTING -> to(replica, ReplicaPhase.STARTING, "", turn);
      case DRAINING, STOPPING -> {
        replica.info = found.info();
        replica.grace = found.target().settings().get(DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S);
        to(replica, ReplicaPhase.DRAINING, "", turn);
      }
      default -> {
        replica.info = found.info();
        replica.commandedNanos -=
            ReplicaRecord.REPEAT_NANOS; // the earlier controller may have received the reply
        runs(replica, turn);
      }
    }
  }

  // --- waking ---

  private static long ownWakeNanos(DeploymentState deployment, long nowNanos) {
    long next = Long.MAX_VALUE;
    for (ReplicaRecord replica : deployment.replicas.values()) {
      next = Math.min(next, replica.repeatNanos());
      if (replica.suspicion.isOut(nowNanos)) {
        next = Math.min(next, replica.suspicion.untilNanos());
      }
    }
    return next;
  }

  private void wakeAt(DeploymentState deployment, long nanos) {
    if (deployment.wakeNanos != nanos) {
      waking.remove(deployment);
      deployment.wakeNanos = nanos;
      if (nanos != Long.MAX_VALUE) {
        waking.add(deployment);
      }
    }
  }

  /** Returns the time of the next action for upstreams without an event. */
  long upstreamsWakeNanos() {
    return Math.min(
        shares.nextWakeNanos(), Math.min(names.nextWakeNanos(), handovers.nextWakeNanos()));
  }

  void wakeUpstreams(ReconcilePass turn) {
    shares.wake(turn);
    names.wake(turn);
    handovers.wake(turn);
  }

  long nextWakeNanos() {
    return waking.isEmpty() ? Long.MAX_VALUE : waking.first().wakeNanos;
  }

  void wake(ReconcilePass turn) {
    while (!waking.isEmpty() && waking.first().wakeNanos - turn.nowNanos <= 0) {
      DeploymentState due = waking.first();
      wakeAt(due, Long.MAX_VALUE);
      turn.touch(due);
    }
  }
}
