package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.controller.autoscaling.PolicyReply;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.view.ReplicaPhase;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the controller is told. */
public sealed interface ControllerEvent {

  /** An application is to run: a new one, or another revision of one, or the same one anew. */
  record Declared(DeclaredApplication application) implements ControllerEvent {}

  /** An application is to run no more: its replicas drain and stop. */
  record Withdrawn(String application) implements ControllerEvent {}

  /** Another number of replicas was set from outside, and is durable. */
  record Scaled(DeploymentId deployment, int replicas) implements ControllerEvent {}

  /** An endpoint has these weights from now on, by {@code application#deployment}. */
  record EndpointSplit(String route, Map<String, Double> weights) implements ControllerEvent {}

  /** Autoscaling of a deployment is paused at a number, or goes on from it; that is durable. */
  record Paused(DeploymentId deployment, Autoscaled now) implements ControllerEvent {}

  /** The code of a revision was read. */
  record Built(String application, long revision, BuiltApplication built)
      implements ControllerEvent {}

  /**
   * The code of a revision cannot be run.
   *
   * @param reason one line, for people
   */
  record BuildFailed(String application, long revision, String reason) implements ControllerEvent {}

  /**
   * A policy was asked.
   *
   * @param replies of each deployment that it was asked for
   * @param tookNanos for which it ran, or for which it was waited for
   */
  record PolicyAnswered(PolicySource source, Map<DeploymentId, PolicyReply> replies, long tookNanos)
      implements ControllerEvent {
    public PolicyAnswered {
      replies = Map.copyOf(replies);
    }
  }

  /** Something happened to one instance, which is named as on the bus, {@code name~process}. */
  sealed interface OfNode extends ControllerEvent {
    String node();
  }

  /**
   * An instance is registered: what it hosts is awaited. Before any is told of, the controller has
   * its own alone; from then on that is to be told of too.
   *
   * @param zone that it fails with; null when that is not known
   */
  record NodeJoined(String node, @Nullable String zone) implements OfNode {}

  /** An instance is lost for good, and so is all that it hosts, whatever is heard of that yet. */
  record NodeLost(String node) implements OfNode {}

  /** An instance is to be left: replicas elsewhere take the places of those that it hosts. */
  record NodeLeaving(String node) implements OfNode {}

  /** An instance has left, and said its last. */
  record NodeLeft(String node) implements OfNode {}

  /** An instance is to get no more replicas, or may have some again, also after it was left. */
  record NodeCordoned(String node, boolean cordoned) implements OfNode {}

  /** An instance was not heard for a while, or is heard again. */
  record NodeSuspected(String node, boolean suspected) implements OfNode {}

  /** Something happened to one replica. */
  sealed interface OfReplica extends ControllerEvent {
    String replicaId();
  }

  /** A replica takes requests. */
  record ReplicaRunning(ReplicaInfo replica) implements OfReplica {
    @Override
    public String replicaId() {
      return replica.replicaId();
    }
  }

  /**
   * A replica could not start.
   *
   * @param reason one line, for people
   */
  record ReplicaFailed(String replicaId, String reason) implements OfReplica {}

  /**
   * The start of a replica waits for a thread, or its handlers for a carrier, or no longer.
   *
   * @param reason one line, for people; empty when it waits no more
   */
  record ReplicaWaits(String replicaId, String reason) implements OfReplica {}

  /** A replica runs with the settings of another version. */
  record ReplicaReconfigured(String replicaId, DeploymentVersion version) implements OfReplica {}

  /**
   * A replica did not take the settings of another version.
   *
   * @param reason one line, for people
   */
  record ReconfigureFailed(String replicaId, DeploymentVersion version, String reason)
      implements OfReplica {}

  /** A replica grants nothing more; its ledger says so already. */
  record ReplicaDraining(String replicaId) implements OfReplica {}

  /**
   * A replica became unhealthy by its checks, or healthy again; it is healthy at first.
   *
   * @param reason one line, for people; empty when it is healthy
   */
  record ReplicaHealth(String replicaId, boolean healthy, String reason) implements OfReplica {}

  /**
   * A replica gave nothing but failures of late, or answers again; it is no suspect at first.
   *
   * @param reason one line, for people; empty when it is no suspect
   */
  record ReplicaSuspect(String replicaId, boolean suspect, String reason) implements OfReplica {}

  /**
   * Nothing of a replica is left, or what is left takes nothing more. It died when it was not told
   * to stop before.
   */
  record ReplicaStopped(String replicaId) implements OfReplica {}

  /**
   * What an instance hosts, told to a controller that started after it, and whenever its link was
   * made anew: what it does not name is not there.
   *
   * @param complete the last target of each deployment of which every replica ran
   */
  record Inventory(String node, List<Found> replicas, List<DeploymentTarget> complete)
      implements OfNode {
    public Inventory {
      replicas = List.copyOf(replicas);
      complete = List.copyOf(complete);
    }

    /**
     * A replica that is there.
     *
     * @param info of it
     * @param target it was started or last reconfigured with
     * @param next what it is being given, or will be once it runs; null when nothing is
     * @param phase STARTING, UPDATING, RUNNING or DRAINING
     * @param healthy what its checks say
     * @param refused whether it did not take the last configuration it was given
     * @param startedMs when it was commanded to start, in milliseconds since 1970
     */
    public record Found(
        ReplicaInfo info,
        DeploymentTarget target,
        @Nullable DeploymentTarget next,
        ReplicaPhase phase,
        boolean healthy,
        boolean refused,
        long startedMs) {}
  }
}
