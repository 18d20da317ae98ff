package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The desired state of one deployment. Equality ignores the revision, as several revisions may
 * declare the same target.
 *
 * @param id of the deployment
 * @param build build of the application's code that creates its replicas
 * @param version distinguishes current replicas from outdated ones
 * @param settings of every replica; their number of replicas is the wanted one
 * @param revision of the application that declares this target, shown to people; 0 when unknown
 * @param routePrefix of the application, for its handlers; empty without HTTP. Part of the version
 */
public record DeploymentTarget(
    DeploymentId id,
    String build,
    DeploymentVersion version,
    Settings settings,
    long revision,
    String routePrefix) {

  /** Creates a target of a build, whose revision is unknown. */
  public DeploymentTarget(
      DeploymentId id, String build, DeploymentVersion version, Settings settings) {
    this(id, build, version, settings, 0, "");
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof DeploymentTarget target
        && id.equals(target.id)
        && build.equals(target.build)
        && version.equals(target.version)
        && settings.equals(target.settings);
  }

  @Override
  public int hashCode() {
    return Objects.hash(id, build, version);
  }

  /** Returns the same target, declared by a revision of the application. */
  DeploymentTarget of(long asking) {
    return new DeploymentTarget(id, build, version, settings, asking, routePrefix);
  }

  /** Returns the same target with another number of replicas. */
  public DeploymentTarget withReplicas(int replicas) {
    return new DeploymentTarget(
        id,
        build,
        version,
        DeploymentConfig.withReplicas(settings, replicas),
        revision,
        routePrefix);
  }
}
