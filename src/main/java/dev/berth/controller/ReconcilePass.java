package dev.berth.controller;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A pass of the controller over one event. The pass collects the touched deployments and
 * applications, and the actions; only touched ones are decided again.
 */
final class ReconcilePass {
  /** Maximum number of decisions for one deployment in one pass; two or three are usual. */
  private static final int MAX_DECISIONS = 16;

  final long nowNanos;
  final List<ControllerAction> actions = new ArrayList<>();
  private final Set<DeploymentState> deployments = new LinkedHashSet<>();
  private final Map<DeploymentState, Integer> decisions = new HashMap<>();
  private final Set<ApplicationState> applications = new LinkedHashSet<>();

  ReconcilePass(long nowNanos) {
    this.nowNanos = nowNanos;
  }

  void add(ControllerAction action) {
    actions.add(action);
  }

  void touch(DeploymentState deployment) {
    deployments.add(deployment);
  }

  /**
   * Counts a decision for a deployment. A decision with steps is followed by another one, which
   * usually has none.
   *
   * @return whether the maximum was reached; the deployment is then not decided again in this pass
   */
  boolean isEnough(DeploymentState deployment) {
    boolean enough = decisions.merge(deployment, 1, Integer::sum) >= MAX_DECISIONS;
    return enough && deployments.remove(deployment);
  }

  void touch(ApplicationState application) {
    applications.add(application);
  }

  @Nullable DeploymentState nextDeployment() {
    return next(deployments);
  }

  @Nullable ApplicationState nextApp() {
    return next(applications);
  }

  private static <T> @Nullable T next(Set<T> of) {
    T first = of.isEmpty() ? null : of.iterator().next();
    of.remove(first);
    return first;
  }
}
