package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.config.AutoscalingOptions;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import org.jspecify.annotations.Nullable;

/**
 * The origin of a user-defined autoscaling policy. Another source is another policy.
 *
 * @param scope deployments that it decides for
 * @param build identity of the code that contains it
 * @param settings its class and arguments
 */
public record PolicySource(PolicyScope scope, String build, Settings settings) {

  /**
   * The application or single deployment that a policy decides for.
   *
   * @param deployment null for all deployments of the application that autoscale
   */
  public record PolicyScope(String application, @Nullable DeploymentId deployment) {
    @Override
    public String toString() {
      return deployment == null ? application : deployment.toString();
    }
  }

  public String className() {
    return String.valueOf(AutoscalingOptions.policyClass(settings));
  }

  /**
   * Returns the policy of an autoscaled deployment; null when the ratio of its requests to its
   * target decides.
   */
  static @Nullable PolicySource of(DeploymentState deployment) {
    String application = deployment.id.application();
    BuiltApplication built = deployment.application.built;
    if (built != null && built.policy() != null) {
      return new PolicySource(new PolicyScope(application, null), built.build(), built.policy());
    }
    DeploymentTarget target = deployment.target;
    Settings config = target.settings().get(DeploymentConfig.AUTOSCALING_CONFIG);
    Settings own = config.find(AutoscalingOptions.POLICY);
    return own == null || AutoscalingOptions.policyClass(own) == null
        ? null
        : new PolicySource(new PolicyScope(application, target.id()), target.build(), own);
  }
}
