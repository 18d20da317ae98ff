package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.ReplicaInfo;
import java.util.Map;

/** What the controller is told. */
public sealed interface ControllerEvent {

  /**
   * An application is to run.
   *
   * @param application its name; one that is declared already is refused
   * @param replicas how many each of its deployments is to have, at least 1
   */
  record Declared(String application, Map<DeploymentId, Integer> replicas)
      implements ControllerEvent {
    public Declared {
      replicas = Map.copyOf(replicas);
    }
  }

  /** An application is to run no more: its replicas drain and stop. */
  record Withdrawn(String application) implements ControllerEvent {}

  /** A replica takes requests. */
  record ReplicaRunning(ReplicaInfo replica) implements ControllerEvent {}

  /** A replica grants nothing more; its ledger says so already. */
  record ReplicaDraining(String replicaId) implements ControllerEvent {}

  /** A replica became unhealthy, or healthy again; it is healthy at first. */
  record ReplicaHealth(String replicaId, boolean healthy) implements ControllerEvent {}

  /**
   * A replica could not start.
   *
   * @param reason one line, for people
   */
  record ReplicaFailed(String replicaId, String reason) implements ControllerEvent {}

  /** Nothing of a replica is left, or what is left takes nothing more. */
  record ReplicaStopped(String replicaId) implements ControllerEvent {}
}
