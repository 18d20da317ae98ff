package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.api.spi.AutoscalingPolicy.Context;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerEvent.PolicyAnswered;
import dev.berth.controller.autoscaling.ScalingDecision;
import dev.berth.controller.autoscaling.ScalingRules;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.ReplicaPhase;
import dev.berth.view.StatusTrigger;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An action that the controller requests. Commands carry its epoch: an instance refuses commands of
 * an older epoch, and a repeated command has no further effect.
 */
public sealed interface ControllerAction {

  /** An action that an instance executes; other actions only notify. */
  sealed interface Command extends ControllerAction {
    Epoch epoch();
  }

  /** A command for one instance; every other command is for all instances. */
  sealed interface CommandTo extends Command {
    String node();
  }

  /** Builds the code of a revision off the loop and reports the result. */
  record Build(Epoch epoch, String application, long revision) implements Command {}

  /** Discards a build that no replica and no target references; its class loader may be closed. */
  record DiscardBuild(Epoch epoch, String application, String build) implements Command {}

  /**
   * Starts a replica with the target's settings and reports the outcome.
   *
   * @param upstream key of the upstream that the replica represents; empty for none
   */
  record StartReplica(
      Epoch epoch, String node, DeploymentTarget target, String replicaId, String upstream)
      implements CommandTo {}

  /** Sets the share of a replica that represents an upstream; only in a cluster. */
  record ShareUpstream(Epoch epoch, String node, String replicaId, UpstreamShare share)
      implements CommandTo {}

  /**
   * Probes an upstream from a node without its replica, and reports an {@code UpstreamProbed}.
   *
   * @param target of the replica
   */
  record ProbeUpstream(
      Epoch epoch, String node, DeploymentTarget target, String replicaId, String upstream)
      implements CommandTo {}

  /** Applies the target's settings to a running replica, which accepts requests meanwhile. */
  record ReconfigureReplica(Epoch epoch, String node, String replicaId, DeploymentTarget target)
      implements CommandTo {}

  /**
   * Drains a replica, then stops it; a starting replica stops too.
   *
   * @param grace time for accepted requests and granted leases
   * @param reason one line, for people
   */
  record StopReplica(Epoch epoch, String node, String replicaId, Duration grace, String reason)
      implements CommandTo {}

  /** Sets the target whose settings the routers of a deployment use from now on. */
  record Configure(Epoch epoch, DeploymentTarget target) implements Command {}

  /**
   * Stores the complete target of a deployment for a later controller, which may find no replica of
   * it.
   *
   * @param complete last target with every replica running; null when there is none
   */
  record Remember(Epoch epoch, DeploymentId deployment, @Nullable DeploymentTarget complete)
      implements Command {}

  /**
   * Persists another number of replicas that the load requires, or another state of the policy.
   *
   * @param now null when the deployment does not autoscale any longer
   * @param decision that made it; null when the number is unchanged
   */
  record Rescale(
      Epoch epoch,
      DeploymentId deployment,
      @Nullable AutoscaledReplicaCount now,
      @Nullable ScalingDecision decision)
      implements Command {}

  /**
   * A decision about the number of replicas of a deployment, changed or not.
   *
   * @param policyFailures failed replies of its policy, in total
   * @param policy last reply of its policy; null before the first, and without a policy
   */
  record Decided(
      DeploymentId deployment,
      ScalingRules rules,
      ScalingDecision decision,
      long policyFailures,
      @Nullable PolicyAnswered policy)
      implements ControllerAction {}

  /**
   * Commits changes of grants to the log, and reports all grants.
   *
   * @param grants new or changed ones
   * @param ended replica ids of removed ones
   * @param limits maximum of each upstream, which the sum of its grants may not begin to exceed
   */
  record GrantUpstreams(List<UpstreamGrant> grants, Set<String> ended, Map<String, Integer> limits)
      implements ControllerAction {}

  /** Dials the data port of an absent owner, and reports an {@code OwnerFree} if it is refused. */
  record ProbeOwner(UpstreamGrant grant) implements ControllerAction {}

  /** Looks the addresses of an upstream's host name up, and reports an {@code UpstreamResolved}. */
  record ResolveUpstream(String name) implements ControllerAction {}

  /** An instance was removed; messages to it can be dropped. */
  record NodeGone(String node) implements ControllerAction {}

  /**
   * The controller knows every replica that ran before it.
   *
   * @param builds that replicas run, or that may be started again, by application; the controller
   *     discards each of them, and no other build of an earlier controller
   */
  record Recovered(Map<String, Set<String>> builds) implements ControllerAction {}

  /** A batch of load reports was accepted as new. */
  record Reported(HandleMetricBatch batch) implements ControllerAction {}

  /** Calls a user-defined policy off the loop and reports its reply. */
  record AskPolicy(Epoch epoch, PolicySource source, List<Context> contexts) implements Command {
    public AskPolicy {
      contexts = List.copyOf(contexts);
    }
  }

  /** Removes a deployment: its routers may be closed, and their waiters are refused. */
  record Forget(Epoch epoch, DeploymentId deployment) implements Command {}

  /** Publishes a newer snapshot of a deployment to the routers. */
  record Publish(RoutingSnapshot snapshot) implements ControllerAction {}

  /**
   * Replaces the route of an application.
   *
   * @param prefix null for an application without HTTP
   * @param ingress deployment that serves the route
   * @param traffic split with other deployments, in the form of {@link BuiltApplication#traffic()}
   */
  record RouteTo(
      Epoch epoch,
      String application,
      @Nullable String prefix,
      DeploymentId ingress,
      @Nullable Settings traffic)
      implements Command {}

  /** Replaces the weights of an endpoint, by {@code application#deployment}. */
  record SplitEndpoint(Epoch epoch, String route, Map<String, Double> weights) implements Command {}

  /** Removes the route of an application. */
  record Unroute(Epoch epoch, String application) implements Command {}

  /**
   * An application has entered a new state.
   *
   * @param message reason, one line; may be empty
   * @param proven whether any deployment has run, and each of those has run in its wanted version;
   *     a version that waits at zero replicas is unproven
   * @param ran deployments whose replicas have run, in any version; filled for a running
   *     application only
   */
  record Announce(
      String application,
      long revision,
      ApplicationStatus status,
      String message,
      boolean proven,
      Set<String> ran)
      implements ControllerAction {}

  /**
   * A deployment has entered a new state.
   *
   * @param version wanted version
   * @param message reason, one line; may be empty
   */
  record AnnounceDeployment(
      DeploymentId deployment,
      DeploymentStatus status,
      StatusTrigger trigger,
      DeploymentVersion version,
      String message)
      implements ControllerAction {}

  /**
   * A replica has entered a new state.
   *
   * @param version version that it runs
   * @param reason one line; may be empty
   */
  record AnnounceReplica(
      String replicaId,
      DeploymentId deployment,
      DeploymentVersion version,
      ReplicaPhase phase,
      String reason)
      implements ControllerAction {}
}
