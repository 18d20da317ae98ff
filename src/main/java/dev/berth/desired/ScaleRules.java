package dev.berth.desired;

import static dev.berth.view.CommandRejectedException.invalid;
import static dev.berth.view.CommandRejectedException.notFound;
import static dev.berth.view.CommandRejectedException.precondition;

import dev.berth.api.DeploymentId;
import dev.berth.config.AutoscalingOptions;
import dev.berth.controller.AutoscaledReplicaCount;
import dev.berth.controller.ControllerEvent;
import dev.berth.desired.ServeControl.CommandDecision;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Decides commands that set the number of replicas of a deployment. */
final class ScaleRules {
  private ScaleRules() {}

  /**
   * @param replicas null for the number that autoscaling finds
   * @param follows whether it autoscales; null when the controller knows no such deployment
   * @param pauses whether autoscaling is paused at that number. Ray's REST call never pauses it,
   *     and needs {@code external_scaler_enabled}
   */
  static CommandDecision decide(
      DesiredState state,
      DeploymentId id,
      @Nullable Integer replicas,
      @Nullable Boolean follows,
      boolean pauses) {
    if (replicas != null && (replicas < 0 || replicas > AutoscalingOptions.REPLICAS_LIMIT)) {
      int most = AutoscalingOptions.REPLICAS_LIMIT;
      throw invalid("target_num_replicas: %s (expected: 0 to %s)", replicas, most);
    }
    if (follows == null) {
      throw notFound("Application or Deployment not found");
    }
    DesiredApplication wanted = state.find(id.application());
    if (wanted == null) {
      throw precondition("Deployment is deleted"); // Ray's text
    }
    if (!UpstreamOwners.paths(wanted.wanted()).isEmpty()) {
      throw precondition(
          "target_num_replicas: of upstreams of %s (expected: a change of berth.upstreams)", id);
    }
    if (pauses && follows) {
      DesiredChange change = state.pause(id, replicas);
      AutoscaledReplicaCount now = change == null ? null : change.autoscaled().find(id);
      return new CommandDecision(
          change, now == null ? List.of() : List.of(new ControllerEvent.Paused(id, now)));
    }
    if (replicas == null) {
      throw precondition("autoscaling: none of deployment %s (expected: autoscaling_config)", id);
    }
    if (!pauses && !wanted.wanted().externalScaler()) { // Ray's text
      throw precondition(
          "Cannot update replicas for deployment '%s' in application '%s'. The external scaling API"
              + " can only be used when 'external_scaler_enabled' is set to true in the application"
              + " configuration. Current value: external_scaler_enabled=false.",
          id.name(), id.application());
    }
    DesiredChange change = state.scale(id.application(), id.name(), replicas);
    return new CommandDecision(
        change, change == null ? List.of() : List.of(new ControllerEvent.Scaled(id, replicas)));
  }
}
