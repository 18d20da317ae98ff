package dev.berth.controller;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What one event touches and asks for: only what it touched is looked at again. */
final class Turn {
  /** Decisions for one deployment in one turn; two or three are usual. */
  private static final int MAX_DECISIONS = 16;

  final long nowNanos;
  final List<ControllerAction> actions = new ArrayList<>();
  private final Set<DeploymentState> deployments = new LinkedHashSet<>();
  private final Map<DeploymentState, Integer> decisions = new HashMap<>();
  private final Set<ApplicationState> applications = new LinkedHashSet<>();

  Turn(long nowNanos) {
    this.nowNanos = nowNanos;
  }

  void add(ControllerAction action) {
    actions.add(action);
  }

  void touch(DeploymentState deployment) {
    deployments.add(deployment);
  }

  /**
   * Counts one more decision for a deployment. A decision that asks for something is followed by
   * another, which as a rule asks for nothing.
   *
   * @return whether there were too many; it is then not looked at again in this turn
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
    var all = of.iterator();
    if (!all.hasNext()) {
      return null;
    }
    T first = all.next();
    all.remove();
    return first;
  }
}
