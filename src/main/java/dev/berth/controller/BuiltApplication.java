package dev.berth.controller;

import dev.berth.config.TrafficOptions;
import dev.berth.config.keys.Settings;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the code of an application gave.
 *
 * @param build identity of the code: equal for equal code and arguments
 * @param ingress the deployment that answers
 * @param targets in the order of the code; settings are the file's over the code's, their number of
 *     replicas at the target capacity
 * @param policy that decides for all deployments that autoscale; null when each is for itself
 * @param traffic of its route, as {@link TrafficOptions} have it; null when its ingress alone
 *     answers
 */
public record BuiltApplication(
    String build,
    String ingress,
    List<DeploymentTarget> targets,
    @Nullable Settings policy,
    @Nullable Settings traffic) {

  /** One without a policy of its own, whose ingress alone answers. */
  public BuiltApplication(String build, String ingress, List<DeploymentTarget> targets) {
    this(build, ingress, targets, null, null);
  }

  public BuiltApplication {
    targets = List.copyOf(targets);
  }
}
