package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.ReplicaPhase;
import java.util.List;

/** What the controller is told. */
public sealed interface ControllerEvent {

  /** An application is to run: a new one, or another revision of one, or the same one anew. */
  record Declared(DeclaredApplication application) implements ControllerEvent {}

  /** An application is to run no more: its replicas drain and stop. */
  record Withdrawn(String application) implements ControllerEvent {}

  /** Another number of replicas was set from outside, and is durable. */
  record Scaled(DeploymentId deployment, int replicas) implements ControllerEvent {}

  /** The code of a revision was read. */
  record Built(String application, long revision, BuiltApplication built)
      implements ControllerEvent {}

  /**
   * The code of a revision cannot be run.
   *
   * @param reason one line, for people
   */
  record BuildFailed(String application, long revision, String reason) implements ControllerEvent {}

  /** A replica takes requests. */
  record ReplicaRunning(ReplicaInfo replica) implements ControllerEvent {}

  /**
   * A replica could not start.
   *
   * @param reason one line, for people
   */
  record ReplicaFailed(String replicaId, String reason) implements ControllerEvent {}

  /** A replica runs with the settings of another version. */
  record ReplicaReconfigured(String replicaId, DeploymentVersion version)
      implements ControllerEvent {}

  /**
   * A replica did not take the settings of another version.
   *
   * @param reason one line, for people
   */
  record ReconfigureFailed(String replicaId, DeploymentVersion version, String reason)
      implements ControllerEvent {}

  /** A replica grants nothing more; its ledger says so already. */
  record ReplicaDraining(String replicaId) implements ControllerEvent {}

  /**
   * A replica became unhealthy by its checks, or healthy again; it is healthy at first.
   *
   * @param reason one line, for people; empty when it is healthy
   */
  record ReplicaHealth(String replicaId, boolean healthy, String reason)
      implements ControllerEvent {}

  /**
   * A replica gave nothing but failures of late, or answers again; it is no suspect at first.
   *
   * @param reason one line, for people; empty when it is no suspect
   */
  record ReplicaSuspect(String replicaId, boolean suspect, String reason)
      implements ControllerEvent {}

  /**
   * Nothing of a replica is left, or what is left takes nothing more. It died when it was not told
   * to stop before.
   */
  record ReplicaStopped(String replicaId) implements ControllerEvent {}

  /** What an instance hosts, told to a controller that started after it. */
  record Inventory(String node, List<Found> replicas) implements ControllerEvent {
    public Inventory {
      replicas = List.copyOf(replicas);
    }

    /**
     * A replica that is there.
     *
     * @param info of it
     * @param target it was started or last reconfigured with
     * @param phase STARTING, UPDATING, RUNNING or DRAINING
     * @param healthy what its checks say
     * @param startedMs when it was commanded to start, in milliseconds since 1970
     */
    public record Found(
        ReplicaInfo info,
        DeploymentTarget target,
        ReplicaPhase phase,
        boolean healthy,
        long startedMs) {}
  }
}
