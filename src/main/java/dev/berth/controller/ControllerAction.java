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
 * What the controller wants done. Commands carry its epoch: an instance refuses those of an older
 * one, and doing one twice does it once.
 */
public sealed interface ControllerAction {

  /** What is to be done here, and not only to be known. */
  sealed interface Command extends ControllerAction {
    Epoch epoch();
  }

  /** What one instance is to do; every other command is for all of them. */
  sealed interface CommandTo extends Command {
    String node();
  }

  /** Read the code of a revision, off the loop, and tell what it gave. */
  record Build(Epoch epoch, String application, long revision) implements Command {}

  /** No replica and no target uses a build any more: its class loader may go. */
  record DiscardBuild(Epoch epoch, String application, String build) implements Command {}

  /** Start a replica as the target says, and tell what came of it. */
  record StartReplica(Epoch epoch, String node, DeploymentTarget target, String replicaId)
      implements CommandTo {}

  /** Give a running replica the target's settings; it takes requests meanwhile. */
  record ReconfigureReplica(Epoch epoch, String node, String replicaId, DeploymentTarget target)
      implements CommandTo {}

  /**
   * Drain a replica, then stop it; one that is still starting stops too.
   *
   * @param grace time for what it accepted and for the leases it granted
   * @param reason one line, for people
   */
  record StopReplica(Epoch epoch, String node, String replicaId, Duration grace, String reason)
      implements CommandTo {}

  /** What the routers of a deployment are to use from now on. */
  record Configure(Epoch epoch, DeploymentTarget target) implements Command {}

  /**
   * To be told to a controller that follows: it may find no replica any more of what served last.
   *
   * @param complete the last target of which every replica ran; null when there is none
   */
  record Remember(Epoch epoch, DeploymentId deployment, @Nullable DeploymentTarget complete)
      implements Command {}

  /**
   * The load of a deployment asks for another number of replicas, or its policy has another state,
   * which is to be kept.
   *
   * @param now null when its number follows its load no more
   * @param decision that made it; null when there is none, and the number is as it was
   */
  record Rescale(
      Epoch epoch,
      DeploymentId deployment,
      @Nullable Autoscaled now,
      @Nullable ScalingDecision decision)
      implements Command {}

  /**
   * How many replicas a deployment is to have was decided, be it as many as before.
   *
   * @param policyFailures answers of its policy that were none, so far
   * @param policy what its policy said last; null before, and where it has none
   */
  record Decided(
      DeploymentId deployment,
      ScalingRules rules,
      ScalingDecision decision,
      long policyFailures,
      @Nullable PolicyAnswered policy)
      implements ControllerAction {}

  /** An instance is there no more: who tells it of anything need not. */
  record NodeGone(String node) implements ControllerAction {}

  /**
   * The controller knows every replica that ran before it.
   *
   * @param builds that replicas run, or that may be started again, by application; the controller
   *     discards each of them, and no other build of an earlier controller
   */
  record Recovered(Map<String, Set<String>> builds) implements ControllerAction {}

  /** An instance told of the load of deployments, and that was not known yet. */
  record Reported(HandleMetricBatch batch) implements ControllerAction {}

  /** Ask a policy of the user's own, off the loop, and tell what it answers. */
  record AskPolicy(Epoch epoch, PolicySource source, List<Context> contexts) implements Command {
    public AskPolicy {
      contexts = List.copyOf(contexts);
    }
  }

  /** A deployment is gone: its routers may go, and who waits there is told. */
  record Forget(Epoch epoch, DeploymentId deployment) implements Command {}

  /** Give the routers a newer view of a deployment. */
  record Publish(RoutingSnapshot snapshot) implements ControllerAction {}

  /**
   * Replaces the route of an application.
   *
   * @param prefix null for an application without HTTP
   * @param ingress the deployment that answers
   * @param traffic where others do too; as {@link BuiltApplication} has it
   */
  record RouteTo(
      Epoch epoch,
      String application,
      @Nullable String prefix,
      DeploymentId ingress,
      @Nullable Settings traffic)
      implements Command {}

  /** Replaces the weights of an endpoint; by {@code application#deployment}. */
  record SplitEndpoint(Epoch epoch, String route, Map<String, Double> weights) implements Command {}

  /** An application has no route from now on. */
  record Unroute(Epoch epoch, String application) implements Command {}

  /**
   * An application is in a new state.
   *
   * @param message why, one line; may be empty
   * @param proven whether it is shown to run: false while nothing has of what is wanted, or a
   *     deployment waits at zero replicas in a version of which none has run, where another did
   * @param ran deployments of which replicas have run, of whatever version; of a running one
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
   * A deployment is in a new state.
   *
   * @param version that is wanted
   * @param message why, one line; may be empty
   */
  record AnnounceDeployment(
      DeploymentId deployment,
      DeploymentStatus status,
      StatusTrigger trigger,
      DeploymentVersion version,
      String message)
      implements ControllerAction {}

  /**
   * A replica is in a new state.
   *
   * @param version that it runs
   * @param reason why, one line; may be empty
   */
  record AnnounceReplica(
      String replicaId,
      DeploymentId deployment,
      DeploymentVersion version,
      ReplicaPhase phase,
      String reason)
      implements ControllerAction {}
}
