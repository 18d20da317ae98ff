package dev.berth.config;

import static dev.berth.config.DeploymentConfig.FALLBACK;
import static dev.berth.config.DeploymentConfig.NAME;
import static dev.berth.config.DeploymentConfig.UPSTREAMS;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Settings;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Rules of a file with upstreams that concern several keys. */
final class UpstreamRules {
  /** Settings of replicas, in whose place each upstream has its own. */
  private static final List<ConfigKey<?>> OF_REPLICAS =
      List.of(
          DeploymentConfig.NUM_REPLICAS,
          DeploymentConfig.AUTOSCALING_CONFIG,
          DeploymentConfig.MAX_ONGOING_REQUESTS,
          DeploymentConfig.MAX_REPLICAS_PER_NODE,
          DeploymentConfig.USER_CONFIG);

  private UpstreamRules() {}

  /** Returns the keys under {@code berth} of a deployment; null unless the file has some. */
  private static @Nullable Settings own(Settings deployment) {
    return deployment.gives(DeploymentConfig.BERTH)
        ? deployment.find(DeploymentConfig.BERTH)
        : null;
  }

  static void checkDeployment(Settings deployment) {
    Settings own = own(deployment);
    if (own == null) {
      return;
    }
    int upstreams = own.all(UPSTREAMS).size();
    if (upstreams == 0) {
      for (ConfigKey<?> key : List.of(FALLBACK, DeploymentConfig.REPLAY_BYTES)) {
        if (own.gives(key)) {
          own.problem(key, "without upstreams", "upstreams too, or leave it out");
        }
      }
      return;
    }
    if (upstreams > UpstreamOptions.MAX_UPSTREAMS) {
      own.problem(UPSTREAMS, upstreams + " entries", "at most " + UpstreamOptions.MAX_UPSTREAMS);
    }
    for (ConfigKey<?> key : OF_REPLICAS) {
      if (deployment.gives(key)) {
        deployment.problem(key, "with berth.upstreams", "leave it out: an upstream is one replica");
      }
    }
    if (own.find(DeploymentConfig.SPREAD) == HandlerSpread.EVENT_LOOPS) {
      own.problem(DeploymentConfig.SPREAD, "event_loops, with upstreams", "single");
    }
  }

  static void checkApplication(Settings application) {
    ImportPath path = application.find(ApplicationConfig.IMPORT_PATH);
    boolean proxy = ImportPath.PROXY.equals(path);
    List<Settings> deployments = application.all(ApplicationConfig.DEPLOYMENTS);
    if (proxy) {
      checkCode(application, deployments.isEmpty());
    }
    for (Settings each : deployments) {
      Settings own = own(each);
      boolean given = own != null && UpstreamOptions.isGiven(own);
      if (proxy && !given) {
        each.problem(NAME, each.find(NAME) + ", without berth.upstreams", "upstreams, as " + path);
      } else if (own != null && given && path != null && !proxy) {
        own.problem(UPSTREAMS, "with import_path " + path, "import_path: " + ImportPath.PROXY);
      }
    }
    checkFallbacks(deployments);
  }

  private static void checkCode(Settings application, boolean empty) {
    if (empty) {
      application.problem(
          ApplicationConfig.DEPLOYMENTS, "none", "at least one with berth.upstreams");
    }
    Settings environment = application.find(ApplicationConfig.RUNTIME_ENV);
    List<?> jars = environment == null ? null : environment.find(ApplicationConfig.JARS);
    if (environment != null && jars != null && !jars.isEmpty()) {
      environment.problem(ApplicationConfig.JARS, "with " + ImportPath.PROXY, "leave it out");
    }
    Map<?, ?> arguments = application.find(ApplicationConfig.ARGS);
    if (arguments != null && !arguments.isEmpty()) {
      application.problem(ApplicationConfig.ARGS, "with " + ImportPath.PROXY, "leave it out");
    }
    if (Boolean.TRUE.equals(application.find(ApplicationConfig.EXTERNAL_SCALER_ENABLED))) {
      application.problem(
          ApplicationConfig.EXTERNAL_SCALER_ENABLED, "true, with " + ImportPath.PROXY, "false");
    }
  }

  /** Requires that fallbacks exist and lead back to no deployment. */
  private static void checkFallbacks(List<Settings> deployments) {
    Map<String, List<String>> fallbacks = new LinkedHashMap<>();
    for (Settings each : deployments) {
      String name = each.find(NAME);
      List<String> given = each.find(FALLBACK);
      if (name != null) {
        fallbacks.put(name, given == null ? List.of() : given);
      }
    }
    for (Settings each : deployments) {
      Settings own = own(each);
      String name = each.find(NAME);
      if (own == null || name == null) {
        continue;
      }
      Set<String> unique = new HashSet<>();
      for (String to : fallbacks.getOrDefault(name, List.of())) {
        if (!unique.add(to) || !fallbacks.containsKey(to)) {
          String why = fallbacks.containsKey(to) ? "\" twice" : "\", an unknown deployment";
          own.problem(FALLBACK, '"' + to + why, "other deployments of the application, once each");
        }
      }
      if (leadsBack(name, fallbacks)) {
        own.problem(FALLBACK, "a cycle back to " + name, "deployments that do not lead back");
      }
    }
  }

  private static boolean leadsBack(String name, Map<String, List<String>> fallbacks) {
    Set<String> met = new HashSet<>();
    Deque<String> left = new ArrayDeque<>(fallbacks.getOrDefault(name, List.of()));
    while (!left.isEmpty()) {
      String next = left.pop();
      if (next.equals(name)) {
        return true;
      }
      if (met.add(next)) {
        left.addAll(fallbacks.getOrDefault(next, List.of()));
      }
    }
    return false;
  }

  /**
   * Checks applications that run in one instance.
   *
   * @param clustered whether the instance is a node of a cluster
   */
  static void checkInstance(List<Settings> applications, boolean clustered) {
    Map<String, String> paths = new HashMap<>();
    for (Settings application : applications) {
      for (Settings deployment : application.all(ApplicationConfig.DEPLOYMENTS)) {
        Settings own = own(deployment);
        List<Settings> all = own == null ? List.of() : own.all(UPSTREAMS);
        if (own != null && !all.isEmpty() && clustered) {
          own.problem(
              UPSTREAMS, "with berth.cluster", "an instance without it: not supported in clusters");
        }
        for (Settings each : all) {
          requireUnique(each, paths);
        }
      }
    }
  }

  private static void requireUnique(Settings entry, Map<String, String> paths) {
    if (entry.find(UpstreamOptions.URL) != null) {
      String key = UpstreamOptions.key(entry);
      String first = paths.putIfAbsent(key, entry.marks().place().path());
      if (first != null) {
        entry.problem(UpstreamOptions.URL, key + " twice", UpstreamOptions.uniqueExcept(first));
      }
    }
  }
}
