package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.controller.autoscaling.PolicyReply;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.view.ReplicaPhase;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An input of the controller: an operator command, a build result, a node event or a replica event.
 */
public sealed interface ControllerEvent {

  /** An application was declared: a new one, another revision, or the same revision again. */
  record Declared(DeclaredApplication application) implements ControllerEvent {}

  /** An application was withdrawn: its replicas drain and stop. */
  record Withdrawn(String application) implements ControllerEvent {}

  /** Another number of replicas was set from outside and persisted. */
  record Scaled(DeploymentId deployment, int replicas) implements ControllerEvent {}

  /** The weights of an endpoint were replaced, by {@code application#deployment}. */
  record EndpointSplit(String route, Map<String, Double> weights) implements ControllerEvent {}

  /**
   * Autoscaling of a deployment was paused at a number or resumed from it, and that was persisted.
   */
  record Paused(DeploymentId deployment, AutoscaledReplicaCount now) implements ControllerEvent {}

  /** The code of a revision was built. */
  record Built(String application, long revision, BuiltApplication built)
      implements ControllerEvent {}

  /**
   * The code of a revision cannot be built.
   *
   * @param reason one line, for people
   */
  record BuildFailed(String application, long revision, String reason) implements ControllerEvent {}

  /**
   * A user-defined policy has replied or failed.
   *
   * @param replies reply for each deployment of the request
   * @param tookNanos run time of the policy, or the time waited for it
   */
  record PolicyAnswered(PolicySource source, Map<DeploymentId, PolicyReply> replies, long tookNanos)
      implements ControllerEvent {}

  /** All grants of upstreams in the log: at the start of a controller, and after each change. */
  record UpstreamsGranted(List<UpstreamGrant> grants) implements ControllerEvent {}

  /** The process of an absent owner has ended: its data port refused a connection. */
  record OwnerFree(String node) implements ControllerEvent {}

  /**
   * The host name of upstreams was looked up.
   *
   * @param addresses none after a failure
   * @param failure reason of a failure, one line
   */
  record UpstreamResolved(String name, List<String> addresses, String failure)
      implements ControllerEvent {}

  /** An operator takes an upstream from its silent owners. */
  record UpstreamTaken(String upstream) implements ControllerEvent {}

  /** An event of one instance, with its bus name, {@code name~process}. */
  sealed interface OfNode extends ControllerEvent {
    String node();
  }

  /**
   * An instance is registered and its inventory awaited. Before the first such event the controller
   * has only its own instance; afterwards that one needs its event too.
   *
   * @param zone failure domain of the instance; null when unknown
   */
  record NodeJoined(String node, @Nullable String zone) implements OfNode {}

  /**
   * An instance is lost for good with all replicas that it hosts; its later messages are ignored.
   */
  record NodeLost(String node) implements OfNode {}

  /** An instance is leaving: replicas elsewhere replace those that it hosts. */
  record NodeLeaving(String node) implements OfNode {}

  /** An instance has left after its last report. */
  record NodeLeft(String node) implements OfNode {}

  /**
   * An instance was cordoned, so that it gets no new replicas, or was opened again, also after a
   * drain.
   */
  record NodeCordoned(String node, boolean cordoned) implements OfNode {}

  /** An instance missed its heartbeats, or its heartbeats arrive again. */
  record NodeSuspected(String node, boolean suspected) implements OfNode {}

  /** An event of one replica. */
  sealed interface OfReplica extends ControllerEvent {
    String replicaId();
  }

  /** A replica accepts requests. */
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
   * The start of a replica waits for a thread, or its handlers for a carrier, or its upstream is
   * closed, or the wait has ended.
   *
   * @param reason one line, for people; empty when the wait has ended
   * @param unreachable whether the upstream is closed since no connection to it succeeds
   */
  record ReplicaWaits(String replicaId, String reason, boolean unreachable) implements OfReplica {
    /** Creates a wait for anything but a connection. */
    public ReplicaWaits(String replicaId, String reason) {
      this(replicaId, reason, false);
    }
  }

  /**
   * A node has probed the upstream of a replica on another node.
   *
   * @param node node that probed, by bus name
   */
  record UpstreamProbed(String replicaId, String node, boolean reachable) implements OfReplica {}

  /** A replica runs with the settings of another version. */
  record ReplicaReconfigured(String replicaId, DeploymentVersion version) implements OfReplica {}

  /**
   * A replica refused the settings of another version.
   *
   * @param reason one line, for people
   */
  record ReconfigureFailed(String replicaId, DeploymentVersion version, String reason)
      implements OfReplica {}

  /**
   * The slots of an upstream's replica in a cluster: after each {@link
   * ControllerAction.ShareUpstream}, and repeatedly while the replica drains or uses more slots
   * than its share.
   *
   * @param share last applied share
   * @param ongoing slots in use, read after {@code share} was applied and after the drain began
   * @param draining whether the replica grants no slot any more
   * @param unreachable whether the upstream is closed since no connection to it succeeds
   */
  record UpstreamReport(
      String replicaId, UpstreamShare share, int ongoing, boolean draining, boolean unreachable)
      implements OfReplica {
    /** Creates a report of an upstream that is not known as unreachable. */
    public UpstreamReport(String replicaId, UpstreamShare share, int ongoing, boolean draining) {
      this(replicaId, share, ongoing, draining, false);
    }
  }

  /** A replica grants no further slots; its ledger is draining already. */
  record ReplicaDraining(String replicaId) implements OfReplica {}

  /**
   * The health checks of a replica failed, or passed again; a new replica is healthy.
   *
   * @param reason one line, for people; empty when it is healthy
   */
  record ReplicaHealth(String replicaId, boolean healthy, String reason) implements OfReplica {}

  /**
   * A replica recently returned nothing but failures, or succeeds again; a new replica is no
   * suspect.
   *
   * @param reason one line, for people; empty when it is no suspect
   */
  record ReplicaSuspect(String replicaId, boolean suspect, String reason) implements OfReplica {}

  /**
   * A replica has stopped, or its remaining parts accept no requests. Without a stop command
   * before, the replica has died.
   */
  record ReplicaStopped(String replicaId) implements OfReplica {}

  /**
   * The replicas that an instance hosts. An instance sends it to a controller that started later,
   * and whenever its link was restored. Replicas missing from it are dead.
   *
   * @param complete last target of each deployment with every replica running
   */
  record Inventory(String node, List<Found> replicas, List<DeploymentTarget> complete)
      implements OfNode {
    public Inventory {
      replicas = List.copyOf(replicas);
      complete = List.copyOf(complete);
    }

    /**
     * A hosted replica.
     *
     * @param info identity and address of the replica
     * @param target of its start or last reconfiguration
     * @param next target that is being applied, or will be once it runs; null when there is none
     * @param phase STARTING, UPDATING, RUNNING or DRAINING
     * @param healthy result of its checks
     * @param refused whether it refused its last configuration
     * @param startedMs time of its start command, in milliseconds since 1970
     * @param upstream key of the upstream that it represents; empty for none
     * @param waits last report of {@link ReplicaWaits} for an upstream
     * @param report slots of an upstream in a cluster; null for every other replica
     */
    public record Found(
        ReplicaInfo info,
        DeploymentTarget target,
        @Nullable DeploymentTarget next,
        ReplicaPhase phase,
        boolean healthy,
        boolean refused,
        long startedMs,
        String upstream,
        String waits,
        @Nullable UpstreamReport report) {
      /** Returns whether its upstream is closed since no connection to it succeeds. */
      boolean isUnreachable() {
        return report != null && report.unreachable();
      }
    }
  }
}
