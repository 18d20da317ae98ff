package dev.berth.controller;

import dev.berth.controller.autoscaling.StatsSeries;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.view.ReplicaPhase;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A replica that the controller keeps. Belongs to the controller's loop. */
final class ReplicaRecord {
  /** A command that nothing was heard of for so long is given again. */
  static final long REPEAT_NANOS = TimeUnit.SECONDS.toNanos(60);

  final DeploymentState deployment;
  final String id;
  final String node; // that hosts it, or is to
  final long startedMs;
  final StatsSeries stats = new StatsSeries(); // of its handlers, while it follows its load
  DeploymentTarget target; // what it runs, or is started with
  @Nullable DeploymentTarget next; // what it is being given
  ReplicaPhase phase;
  @Nullable ReplicaInfo info; // once it runs
  boolean healthy = true; // by its checks
  boolean refused; // a configuration: nobody knows what it runs with
  String reason = ""; // why it is not as it should be
  Suspicion suspicion = Suspicion.NONE;
  boolean scaledDown; // it was told to stop since fewer are wanted
  int ongoing = -1; // requests it works on, as the last decision saw it; negative when unknown
  Duration grace = Duration.ZERO; // of the stop it was told
  long commandedNanos; // when it was last told anything

  ReplicaRecord(
      DeploymentState deployment,
      String id,
      String node,
      DeploymentTarget target,
      ReplicaPhase phase,
      long startedMs) {
    this.deployment = deployment;
    this.id = id;
    this.node = node;
    this.target = target;
    this.phase = phase;
    this.startedMs = startedMs;
  }

  /** It is to be replaced: its checks failed, or it did not take a configuration. */
  boolean isSick() {
    return !healthy || refused;
  }

  boolean isServing() {
    return phase == ReplicaPhase.RUNNING || phase == ReplicaPhase.UPDATING;
  }

  boolean isStarting() {
    return phase == ReplicaPhase.STARTING;
  }

  /** It is there, or comes, and was not told to go. */
  boolean isActive() {
    return isStarting() || isServing();
  }

  /** What it runs, or will when what is under way has succeeded. */
  DeploymentVersion version() {
    DeploymentTarget given = next;
    return given == null ? target.version() : given.version();
  }

  /** The command it was given last is given again when its deployment is looked at. */
  void commandAgain(Turn turn) {
    commandedNanos = turn.nowNanos - grace.toNanos() - REPEAT_NANOS;
    turn.touch(deployment);
  }

  /** When the command it was given last is to be given again. */
  long repeatNanos() {
    return switch (phase) {
      case STARTING, UPDATING -> commandedNanos + REPEAT_NANOS;
      case STOPPING, DRAINING -> commandedNanos + grace.toNanos() + REPEAT_NANOS;
      default -> Long.MAX_VALUE;
    };
  }
}
