package dev.berth.config;

import static dev.berth.config.ApplicationConfig.DEPLOYMENTS;
import static dev.berth.config.ApplicationConfig.EXTERNAL_SCALER_ENABLED;
import static dev.berth.config.DeploymentConfig.FALLBACK;
import static dev.berth.config.DeploymentConfig.NAME;
import static dev.berth.config.DeploymentConfig.UPSTREAMS;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Settings;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
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

  private static final String WITH_PROXY = "with import_path " + ImportPath.PROXY;

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
    List<Settings> deployments = application.all(DEPLOYMENTS);
    if (proxy) {
      checkCode(application);
      if (deployments.isEmpty()) {
        application.problem(DEPLOYMENTS, "none, " + WITH_PROXY, "one with berth.upstreams");
      }
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

  /** Requires that the built-in application has no code of the user. */
  private static void checkCode(Settings application) {
    Settings environment = application.find(ApplicationConfig.RUNTIME_ENV);
    List<Path> jars = environment == null ? null : environment.find(ApplicationConfig.JARS);
    if (environment != null && jars != null && !jars.isEmpty()) {
      environment.problem(ApplicationConfig.JARS, WITH_PROXY, "leave it out");
    }
    for (ConfigKey<?> key : List.of(ApplicationConfig.ARGS, EXTERNAL_SCALER_ENABLED)) {
      if (application.gives(key)) {
        application.problem(key, WITH_PROXY, "leave it out");
      }
    }
  }

  /** Requires that fallbacks exist, once each, and that none leads back. */
  private static void checkFallbacks(List<Settings> deployments) {
    Map<String, List<String>> fallbacks = new HashMap<>();
    for (Settings each : deployments) {
      List<String> given = each.find(FALLBACK);
      fallbacks.put(String.valueOf(each.find(NAME)), given == null ? List.of() : given);
    }
    Set<String> cyclic = new HashSet<>(fallbacks.keySet());
    while (cyclic.removeIf(name -> Collections.disjoint(cyclic, fallbacks.get(name)))) {
      // what remains leads to itself or to another that does
    }
    for (Settings each : deployments) {
      Settings own = own(each);
      String name = String.valueOf(each.find(NAME));
      List<String> given = fallbacks.getOrDefault(name, List.of());
      if (own != null
          && !(fallbacks.keySet().containsAll(given) && Set.copyOf(given).size() == given.size())) {
        own.problem(FALLBACK, given.toString(), "deployments of the application, once each");
      }
      if (own != null && cyclic.contains(name)) {
        own.problem(FALLBACK, given + ", a cycle", "deployments that do not lead back");
      }
    }
  }

  /**
   * Checks applications that run in one instance.
   *
   * @param clustered whether the instance is a node of a cluster
   */
  static void checkInstance(List<Settings> applications, boolean clustered) {
    Map<String, String> paths = new HashMap<>();
    for (Settings application : applications) {
      for (Settings deployment : application.all(DEPLOYMENTS)) {
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
