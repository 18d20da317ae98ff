package dev.berth.simulation;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentSettings;
import dev.berth.config.Rollout;
import dev.berth.controller.BuiltApplication;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.DeploymentVersion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An application as someone declares it, and what its code does. What a version does wrong is in
 * its name: {@code !} never starts, or never takes a configuration; {@code ~} often fails to start;
 * {@code +} runs, and becomes unhealthy.
 *
 * @param build of the code; null when it cannot be built
 */
record LifecycleCode(
    String application,
    long revision,
    @Nullable String prefix,
    @Nullable String build,
    List<Part> parts) {

  /** One deployment of it. The first part is the ingress. */
  record Part(
      String name, String code, String live, int replicas, Rollout rollout, int graceSeconds) {

    Part withCode(String next) {
      return new Part(name, next, live, replicas, rollout, graceSeconds);
    }

    Part withLive(String next) {
      return new Part(name, code, next, replicas, rollout, graceSeconds);
    }

    Part withReplicas(int next) {
      return new Part(name, code, live, next, rollout, graceSeconds);
    }

    boolean isGood() {
      return code.matches("c\\d+") && live.matches("l\\d+");
    }

    boolean neverStarts() {
      return neverStarts(version());
    }

    static boolean neverStarts(DeploymentVersion version) {
      return version.code().endsWith("!") || version.live().endsWith("!");
    }

    DeploymentVersion version() {
      return new DeploymentVersion(code, live);
    }
  }

  LifecycleCode with(long nextRevision, @Nullable String nextBuild, List<Part> nextParts) {
    return new LifecycleCode(application, nextRevision, prefix, nextBuild, nextParts);
  }

  LifecycleCode with(int part, Part next, long nextRevision, @Nullable String nextBuild) {
    List<Part> changed = new ArrayList<>(parts);
    changed.set(part, next);
    return with(nextRevision, nextBuild, changed);
  }

  DeploymentId id(Part part) {
    return new DeploymentId(application, part.name);
  }

  /** What building it gives at a target capacity. */
  BuiltApplication built(@Nullable Double capacity) {
    if (build == null) {
      throw new IllegalStateException("build: null (expected: code that can be built)");
    }
    List<DeploymentTarget> targets = new ArrayList<>();
    for (Part part : parts) {
      targets.add(new DeploymentTarget(id(part), build, part.version(), settings(part, capacity)));
    }
    return new BuiltApplication(build, parts.get(0).name, targets);
  }

  private static DeploymentSettings settings(Part part, @Nullable Double capacity) {
    DeploymentSettings base = DeploymentSettings.defaults(part.name);
    return new DeploymentSettings(
            base.name(),
            part.replicas,
            base.maxOngoingRequests(),
            base.maxQueuedRequests(),
            base.backpressure(),
            Map.of("live", part.live),
            Duration.ofSeconds(part.graceSeconds),
            base.healthCheckPeriod(),
            base.healthCheckTimeout(),
            base.logging(),
            base.spread(),
            base.queueTimeout(),
            base.reservationTtl(),
            base.cancelGrace(),
            base.maxZombieRequests(),
            base.maxBufferedBodyBytes(),
            part.rollout)
        .atCapacity(capacity);
  }
}
