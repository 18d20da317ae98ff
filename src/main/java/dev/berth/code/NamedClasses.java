package dev.berth.code;

import dev.berth.api.spi.AutoscalingPolicy;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.AutoscalingOptions;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.RouterOptions;
import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Settings;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The user-defined autoscaling policies and rankers that a file names. Each has a constructor with
 * a map of arguments, or without parameters.
 *
 * @param config of the application
 * @param problems receives a problem for each unsuitable class
 */
record NamedClasses(ApplicationConfig config, ClassLoader loader, List<ConfigProblem> problems) {

  /** Checks all classes without running their code. */
  void check() {
    policy("autoscaling_policy", config.settings().find(ApplicationConfig.AUTOSCALING_POLICY));
    List<Settings> deployments = config.deployments();
    for (int at = 0; at < deployments.size(); at++) {
      Settings own = deployments.get(at).find(DeploymentConfig.AUTOSCALING_CONFIG);
      policy(
          "deployments[" + at + "].autoscaling_config.policy",
          own == null ? null : own.find(AutoscalingOptions.POLICY));
    }
    for (int at = 0; at < deployments.size(); at++) {
      RouterOptions.RankerChoice choice =
          RouterOptions.choice(deployments.get(at).find(DeploymentConfig.REQUEST_ROUTER_CONFIG));
      check(
          "deployments[" + at + "].request_router_config.request_router_class",
          ReplicaRanker.class,
          choice.className(),
          "request_router_kwargs",
          choice.arguments());
    }
  }

  private void policy(String path, @Nullable Settings policy) {
    check(
        path + ".policy_function",
        AutoscalingPolicy.class,
        AutoscalingOptions.policyClass(policy),
        "policy_kwargs",
        policy == null ? Map.of() : policy.get(AutoscalingOptions.POLICY_KWARGS));
  }

  /**
   * Checks one class.
   *
   * @param name null when the file names no class
   */
  private void check(
      String path, Class<?> type, @Nullable String name, String key, Map<String, ?> arguments) {
    String wrong = name == null ? null : wrong(type, name, !arguments.isEmpty());
    if (wrong != null) {
      String expected =
          "a public class that implements %s, with a public constructor that takes a Map or, without %s, nothing"
              .formatted(type.getName(), key);
      problems.add(ApplicationCode.problem(config, path, name + ": " + wrong, expected));
    }
  }

  private @Nullable String wrong(Class<?> type, String name, boolean arguments) {
    try {
      Class<?> found = Class.forName(name, false, loader);
      if (!type.isAssignableFrom(found)) {
        return "no " + type.getSimpleName();
      }
      boolean made =
          Modifier.isPublic(found.getModifiers()) && !Modifier.isAbstract(found.getModifiers());
      List<List<Class<?>>> takes =
          List.of(found.getConstructors()).stream()
              .map(each -> List.of(each.getParameterTypes()))
              .toList();
      return made && (takes.contains(List.of(Map.class)) || !arguments && takes.contains(List.of()))
          ? null
          : "cannot be instantiated";
    } catch (ClassNotFoundException missing) {
      return "no such class";
    } catch (LinkageError broken) {
      return StartFailedException.describe(broken);
    }
  }
}
