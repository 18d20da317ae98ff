package dev.berth.code;

import dev.berth.api.spi.AutoscalingPolicy;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.AutoscalingOptions;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Problem;
import dev.berth.config.keys.Settings;
import dev.berth.controller.PolicySource;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The autoscaling policies that a file names. */
final class PolicyClasses {
  private static final String EXPECTED =
      "a public class that implements dev.berth.api.spi.AutoscalingPolicy, with a public"
          + " constructor that takes a Map or, without policy_kwargs, nothing";

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
    String wrong = name == null ? null : wrong(name, arguments, loader);
    if (wrong != null) {
      problems.add(
          config.source().problem(path + ".policy_function", name + ": " + wrong, EXPECTED));
    }
  }

  /**
   * Makes one. Runs user code.
   *
   * @throws Exception what its constructor threw, among others
   */
  static AutoscalingPolicy make(PolicySource source, ClassLoader loader) throws Exception {
    Class<?> found = Class.forName(source.className(), true, loader);
    Map<String, @Nullable Object> arguments =
        source.settings().get(AutoscalingOptions.POLICY_KWARGS);
    Object made;
    try {
      made = found.getConstructor(Map.class).newInstance(arguments);
    } catch (NoSuchMethodException takesNothing) {
      made = found.getConstructor().newInstance();
    }
    return (AutoscalingPolicy) made;
  }

  private static @Nullable String wrong(String name, boolean arguments, ClassLoader loader) {
    try {
      Class<?> found = Class.forName(name, false, loader);
      if (!AutoscalingPolicy.class.isAssignableFrom(found)) {
        return "no AutoscalingPolicy";
      }
      boolean made =
          Modifier.isPublic(found.getModifiers()) && !Modifier.isAbstract(found.getModifiers());
      List<List<Class<?>>> takes =
          List.of(found.getConstructors()).stream()
              .map(each -> List.of(each.getParameterTypes()))
              .toList();
      return made && (takes.contains(List.of(Map.class)) || !arguments && takes.contains(List.of()))
          ? null
          : "cannot be made";
    } catch (ClassNotFoundException missing) {
      return "no such class";
    } catch (LinkageError broken) {
      return StartFailedException.describe(broken);
    }
  }
}
