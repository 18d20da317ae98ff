package dev.berth.controller;

import dev.berth.protocol.ReplicaPhase;
import org.jspecify.annotations.Nullable;

/**
 * A replica as a decision sees it.
 *
 * @param target what it runs, or is being started with
 * @param next what it is being given while it runs; null unless it is UPDATING
 * @param sick whether it is to be replaced: its checks failed, or it did not take a configuration
 * @param ongoing requests it works on; negative when nobody knows
 * @param scaledDown whether it was told to stop since fewer are wanted
 */
record ObservedReplica(
    String id,
    DeploymentTarget target,
    @Nullable DeploymentTarget next,
    ReplicaPhase phase,
    boolean sick,
    int ongoing,
    boolean scaledDown) {

  /** What it runs, or will when what is under way has succeeded. */
  DeploymentVersion version() {
    return next == null ? target.version() : next.version();
  }

  /** It is there, or comes, and was not told to go. */
  boolean isActive() {
    return phase == ReplicaPhase.STARTING || isServing();
  }

  boolean isServing() {
    return phase == ReplicaPhase.RUNNING
        || phase == ReplicaPhase.UPDATING
        || phase == ReplicaPhase.RECOVERING;
  }

  boolean isStarting() {
    return phase == ReplicaPhase.STARTING;
  }
}
