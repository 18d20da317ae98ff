package dev.berth.controller;

import dev.berth.config.TrafficOptions;
import dev.berth.config.keys.Settings;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The result of building an application's code.
 *
 * @param build identity of the code: equal for equal code and arguments
 * @param ingress deployment that serves the route
 * @param targets in the order of the code; settings of the configuration file override those of the
 *     code, and the number of replicas is that at the target capacity
 * @param policy decides for all deployments that autoscale; null when each decides for itself
 * @param traffic of the route, in the form of {@link TrafficOptions}; null when only the ingress
 *     serves it
 */
public record BuiltApplication(
    String build,
    String ingress,
    List<DeploymentTarget> targets,
    @Nullable Settings policy,
    @Nullable Settings traffic) {

  public BuiltApplication {
    targets = List.copyOf(targets);
  }
}
