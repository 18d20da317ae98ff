package dev.berth.code;

import dev.berth.api.spi.AutoscalingPolicy;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.AutoscalingOptions;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Problem;
import dev.berth.config.keys.Settings;
import dev.berth.controller.PolicySource;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The autoscaling policies that a file names. */
final class PolicyClasses {
  private PolicyClasses() {}

  /** Adds a problem for each that would not do. */
  static void check(ApplicationConfig config, ClassLoader loader, List<Problem> problems) {
    Settings ofAll = config.settings().find(ApplicationConfig.AUTOSCALING_POLICY);
    check(config, "autoscaling_policy", ofAll, loader, problems);
    int index = 0;
    for (Settings each : config.deployments()) {
      Settings own = each.find(DeploymentConfig.AUTOSCALING_CONFIG);
      Settings policy = own == null ? null : own.find(AutoscalingOptions.POLICY);
      String path = "deployments[" + index++ + "].autoscaling_config.policy";
      check(config, path, policy, loader, problems);
    }
  }

  private static void check(
      ApplicationConfig config,
      String path,
      @Nullable Settings policy,
      ClassLoader loader,
      List<Problem> problems) {
    String name = AutoscalingOptions.policyClass(policy);
    boolean arguments = policy != null && !policy.get(AutoscalingOptions.POLICY_KWARGS).isEmpty();
    String wrong =
        name == null ? null : NamedClass.wrong(AutoscalingPolicy.class, name, arguments, loader);
    if (wrong != null) {
      problems.add(
          ApplicationCode.problem(
              config,
              path + ".policy_function",
              name + ": " + wrong,
              NamedClass.expected(AutoscalingPolicy.class, "policy_kwargs")));
    }
  }

  /**
   * Makes one. Runs user code.
   *
   * @throws Exception what its constructor threw, among others
   */
  static AutoscalingPolicy make(PolicySource source, ClassLoader loader) throws Exception {
    return NamedClass.make(
        AutoscalingPolicy.class,
        source.className(),
        source.settings().get(AutoscalingOptions.POLICY_KWARGS),
        loader);
  }
}
