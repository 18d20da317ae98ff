package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.autoscaling.ScalingRules;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.StatusTrigger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The controller's state of one application. Confined to the controller's loop. */
final class ApplicationState {

  /**
   * The route in the last command of the controller.
   *
   * @param prefix null for an application without HTTP
   * @param traffic in the form of {@link BuiltApplication#traffic()}
   */
  record CommandedRoute(
      @Nullable String prefix, DeploymentId ingress, @Nullable Settings traffic) {}

  final String name;
  final Map<DeploymentId, DeploymentState> deployments = new LinkedHashMap<>();
  final Set<String> builds = new HashSet<>(); // builds that the instance may retain
  final Set<String> discarded = new HashSet<>(); // builds discarded since the last Build command
  final Map<String, Integer> scales = new HashMap<>(); // replicas set from outside, by deployment
  final Map<String, AutoscaledReplicaCount> autoscaled = new HashMap<>(); // by deployment
  DeclaredApplication declared;
  @Nullable BuiltApplication built; // last successful build; null before the first
  @Nullable String prefix; // route prefix of the built application
  @Nullable String buildFailure; // of the last revision
  boolean building;
  boolean withdrawn;
  @Nullable CommandedRoute route;
  @Nullable Announce announced;

  ApplicationState(DeclaredApplication declared) {
    this.name = declared.name();
    this.declared = declared;
    autoscaled.putAll(declared.autoscaled()); // the controller computes later values itself
  }

  /**
   * Returns the target with the number of replicas that was set from outside or found by
   * autoscaling.
   */
  DeploymentTarget scaled(DeploymentTarget target) {
    String deployment = target.id().name();
    AutoscaledReplicaCount found = autoscaled.get(deployment);
    Integer replicas = scales.get(deployment);
    if (found != null && DeploymentConfig.autoscales(target.settings())) {
      int wanted = found.replicas();
      replicas = found.paused() ? wanted : ScalingRules.of(target.settings()).bounded(wanted);
    }
    return replicas == null || replicas == target.settings().get(DeploymentConfig.NUM_REPLICAS)
        ? target
        : target.withReplicas(replicas);
  }

  boolean isPaused(DeploymentTarget target) {
    AutoscaledReplicaCount found = autoscaled.get(target.id().name());
    return found != null && found.paused() && DeploymentConfig.autoscales(target.settings());
  }

  @Nullable DeploymentState ingress() {
    return built == null ? null : deployments.get(new DeploymentId(name, built.ingress()));
  }

  private List<DeploymentState> desiredDeployments() {
    return deployments.values().stream().filter(each -> !each.obsolete && !each.deleting).toList();
  }

  /** Returns the worst state of the application's deployments. Source: Ray Serve. */
  Announce state() {
    if (withdrawn) {
      return state(ApplicationStatus.DELETING, "");
    }
    if (building) {
      return state(ApplicationStatus.DEPLOYING, "");
    }
    if (buildFailure != null) {
      return state(ApplicationStatus.DEPLOY_FAILED, buildFailure);
    }
    boolean changing = built == null;
    List<DeploymentState> failed = new ArrayList<>();
    List<DeploymentState> unhealthy = new ArrayList<>();
    for (DeploymentState deployment : desiredDeployments()) {
      DeploymentCondition standing = deployment.progress.standing();
      switch (standing.status()) {
        case DEPLOY_FAILED -> failed.add(deployment);
        case UNHEALTHY -> unhealthy.add(deployment);
        case UPDATING -> changing = true;
        case UPSCALING, DOWNSCALING ->
            changing |= standing.trigger() == StatusTrigger.CONFIG_UPDATE_STARTED;
        case HEALTHY -> {}
      }
    }
    DeclaredApplication.FailedRevision instead = declared.failed();
    if (instead != null && !changing) {
      failed.addAll(unhealthy);
      return state(
          ApplicationStatus.DEPLOY_FAILED,
          instead.message() + (failed.isEmpty() ? "" : "; " + reasons(failed)));
    }
    if (!failed.isEmpty()) {
      return state(ApplicationStatus.DEPLOY_FAILED, reasons(failed));
    }
    if (!unhealthy.isEmpty()) {
      return state(ApplicationStatus.UNHEALTHY, reasons(unhealthy));
    }
    return state(changing ? ApplicationStatus.DEPLOYING : ApplicationStatus.RUNNING, "");
  }

  Announce state(ApplicationStatus status, String message) {
    Set<String> ran = new HashSet<>(); // any version, also in an earlier process
    Set<String> proven = new HashSet<>();
    for (DeploymentState deployment :
        status == ApplicationStatus.RUNNING ? desiredDeployments() : List.<DeploymentState>of()) {
      RolloutProgress progress = deployment.progress;
      String own = deployment.id.name();
      if (progress.proven()) {
        proven.add(own);
      }
      if (progress.proven() || progress.complete() != null || declared.ran().contains(own)) {
        ran.add(own);
      }
    }
    // A deployment has run, and each that ran in another version has also run in the wanted one: a
    // target at zero replicas proves nothing.
    boolean isProven = !ran.isEmpty() && proven.equals(ran);
    return new Announce(name, declared.revision(), status, message, isProven, ran);
  }

  private static String reasons(List<DeploymentState> deployments) {
    return deployments.stream()
        .map(each -> each.id.name() + (why(each).isEmpty() ? "" : ": " + why(each)))
        .collect(Collectors.joining("; deployment ", "deployment ", ""));
  }

  private static String why(DeploymentState deployment) {
    return deployment.progress.standing().message();
  }

  /** Returns the builds that no target references, sorted; empty while a build runs. */
  List<String> unused() {
    if (building || builds.size() < 2) {
      return List.of();
    }
    Set<String> used = new HashSet<>();
    if (built != null) {
      used.add(built.build());
    }
    deployments.values().forEach(each -> each.targets().forEach(it -> used.add(it.build())));
    return builds.stream().filter(build -> !used.contains(build)).sorted().toList();
  }

  /**
   * @param scaling returns the autoscaling view of a deployment; null for a deployment without
   *     autoscaling
   */
  ApplicationDetails details(
      Function<Settings, Map<String, @Nullable Object>> config,
      Function<DeploymentState, @Nullable ScalingView> scaling) {
    List<DeploymentDetails> all = new ArrayList<>(deployments.size());
    deployments
        .values()
        .forEach(each -> all.add(each.details(config, isPaused(each.target), scaling.apply(each))));
    Announce state = state();
    BuiltApplication known = built;
    return new ApplicationDetails(
        name,
        declared.routePrefix(),
        known == null ? "" : known.ingress(),
        state.status(),
        state.message(),
        declared.deployedMs(),
        declared.revision(),
        declared.rollbackRevision(),
        declared.config().isEmpty() ? null : declared.config(),
        declared.externalScalerEnabled(),
        all);
  }
}
