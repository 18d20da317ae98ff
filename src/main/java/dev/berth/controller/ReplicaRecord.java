package dev.berth.controller;

import dev.berth.controller.autoscaling.StatsSeries;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.view.ReplicaPhase;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The controller's state of one replica. Confined to the controller's loop. */
final class ReplicaRecord {
  /** Time in nanoseconds without an acknowledgement after which a command is sent again. */
  static final long REPEAT_NANOS = TimeUnit.SECONDS.toNanos(60);

  final DeploymentState deployment;
  final String id;
  final String node; // present or intended host
  final long startedMs;
  final String upstream; // its key; empty for a replica of user code
  // statistics of its handlers, while its deployment autoscales
  final StatsSeries stats = new StatsSeries();
  DeploymentTarget target; // of its start or last reconfiguration
  @Nullable DeploymentTarget next; // target of the running reconfiguration
  ReplicaPhase phase;
  @Nullable ReplicaInfo info; // null until it runs
  boolean healthy = true; // by its checks
  boolean refused; // its last configuration: its settings are unknown
  String reason = ""; // cause of a degraded state
  String waits = ""; // state of an upstream's slots, or of its start, as last reported
  String successor = ""; // node that reaches its upstream, while its own does not
  String lacks = ""; // reason of the slots that an upstream does not have
  OutlierState suspicion = OutlierState.NONE;
  boolean scaledDown; // stopped since fewer are wanted
  int ongoing = -1; // requests in progress at the last decision; negative when unknown
  Duration grace = Duration.ZERO; // grace of its stop command
  long commandedNanos; // time of its last command

  ReplicaRecord(
      DeploymentState deployment,
      String id,
      String node,
      DeploymentTarget target,
      ReplicaPhase phase,
      long startedMs,
      String upstream) {
    this.deployment = deployment;
    this.id = id;
    this.node = node;
    this.target = target;
    this.phase = phase;
    this.startedMs = startedMs;
    this.upstream = upstream;
  }

  /** Returns whether it must be replaced: its checks failed, or it refused a configuration. */
  boolean isSick() {
    return !healthy || refused;
  }

  boolean isServing() {
    return phase == ReplicaPhase.RUNNING || phase == ReplicaPhase.UPDATING;
  }

  boolean isStarting() {
    return phase == ReplicaPhase.STARTING;
  }

  /** Returns whether it starts or serves, and has no stop command. */
  boolean isActive() {
    return isStarting() || isServing();
  }

  /** Returns the version that it runs, or will run after the running reconfiguration. */
  DeploymentVersion version() {
    DeploymentTarget given = next;
    return given == null ? target.version() : given.version();
  }

  /** Schedules a resend of its last command for the next decision of its deployment. */
  void commandAgain(ReconcilePass turn) {
    commandedNanos = turn.nowNanos - grace.toNanos() - REPEAT_NANOS;
    turn.touch(deployment);
  }

  /** Returns the time at which its last command is sent again; {@link Long#MAX_VALUE} for never. */
  long repeatNanos() {
    return switch (phase) {
      case STARTING, UPDATING -> commandedNanos + REPEAT_NANOS;
      case STOPPING, DRAINING -> commandedNanos + grace.toNanos() + REPEAT_NANOS;
      default -> Long.MAX_VALUE;
    };
  }
}
