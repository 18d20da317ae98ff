package dev.berth.simulation;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.DeploymentTarget;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An application as someone declares it, and what its code does. What a version does wrong is in
 * its name: {@code !} never starts, or never takes a configuration; {@code ~} often fails to start;
 * {@code +} runs, and becomes unhealthy; {@code ?} hangs until it is interrupted, {@code %} though
 * it is.
 *
 * @param build of the code; with {@code !} when it cannot be built
 */
record LifecycleCode(String application, @Nullable String prefix, String build, List<Part> parts) {

  /** One deployment of it. The first part is the ingress. */
  record Part(
      String name,
      String code,
      String live,
      int replicas,
      Settings rollout,
      int graceSeconds,
      int healthSeconds) {

    Part withCode(String next) {
      return new Part(name, next, live, replicas, rollout, graceSeconds, healthSeconds);
    }

    Part withLive(String next) {
      return new Part(name, code, next, replicas, rollout, graceSeconds, healthSeconds);
    }

    Part withReplicas(int next) {
      return new Part(name, code, live, next, rollout, graceSeconds, healthSeconds);
    }

    Part withRollout(Settings next) {
      return new Part(name, code, live, replicas, next, graceSeconds, healthSeconds);
    }

    boolean isGood() {
      return code.matches("c\\d+") && live.matches("l\\d+");
    }

    boolean neverStarts() {
      return neverStarts(code, live);
    }

    /** Whether the calm is long enough for it: it runs, or fails as soon as it is tried. */
    boolean comesToAnEnd() {
      return isGood() || (neverStarts() && !hangs(code) && !hangs(live));
    }

    private static boolean hangs(String version) {
      return version.endsWith("?") || version.endsWith("%");
    }

    static boolean neverStarts(DeploymentTarget target) {
      return neverStarts(codeOf(target), liveOf(target));
    }

    private static boolean neverStarts(String code, String live) {
      return code.endsWith("!") || live.endsWith("!");
    }

    /** Whether it is this that the target says. */
    boolean is(DeploymentTarget target) {
      return code.equals(codeOf(target)) && live.equals(liveOf(target));
    }

    static String codeOf(DeploymentTarget target) {
      return String.valueOf(target.settings().find(DeploymentConfig.VERSION));
    }

    static String liveOf(DeploymentTarget target) {
      return String.valueOf(target.settings().get(DeploymentConfig.USER_CONFIG).get("live"));
    }

    private JsonObject entry() {
      return new JsonObject()
          .put("name", name)
          .put("num_replicas", replicas)
          .put("user_config", new JsonObject().put("live", live))
          .put("graceful_shutdown_timeout_s", graceSeconds)
          .put("health_check_period_s", healthSeconds)
          .put("rolling_update_percentage", rollout.get(DeploymentConfig.ROLLING_UPDATE_PERCENTAGE))
          .put("max_surge_percent", rollout.get(DeploymentConfig.MAX_SURGE_PERCENT))
          .put("max_replicas_per_node", rollout.find(DeploymentConfig.MAX_REPLICAS_PER_NODE))
          .put(
              "berth",
              new JsonObject()
                  .put("version", code)
                  .put(
                      "max_constructor_retry_count",
                      rollout.get(DeploymentConfig.MAX_CONSTRUCTOR_RETRY_COUNT)));
    }
  }

  boolean isBuildable() {
    return !build.endsWith("!");
  }

  LifecycleCode with(String nextBuild, List<Part> nextParts) {
    return new LifecycleCode(application, prefix, nextBuild, nextParts);
  }

  LifecycleCode with(int part, Part next, String nextBuild) {
    List<Part> changed = new ArrayList<>(parts);
    changed.set(part, next);
    return with(nextBuild, changed);
  }

  DeploymentId id(Part part) {
    return new DeploymentId(application, part.name);
  }

  /** As it is submitted: the same text for the same application. */
  String entry(String run) {
    JsonArray code = new JsonArray();
    JsonArray settings = new JsonArray();
    for (Part part : parts) {
      code.add(new JsonObject().put("name", part.name).put("code", part.code));
      settings.add(part.entry());
    }
    return new JsonObject()
        .put("name", application)
        .put("route_prefix", prefix)
        .put("import_path", LifecycleUserCode.class.getName() + ":build")
        .put("external_scaler_enabled", true)
        .put("args", new JsonObject().put("run", run).put("build", build).put("parts", code))
        .put("deployments", settings)
        .encode();
  }

  /** Replicas of a part at a target capacity, as a file would have it. */
  static int atCapacity(Part part, @Nullable Double capacity) {
    Settings settings = DeploymentConfig.of(part.name);
    return DeploymentConfig.atCapacity(
            DeploymentConfig.withReplicas(settings, part.replicas), capacity, false)
        .get(DeploymentConfig.NUM_REPLICAS);
  }
}
