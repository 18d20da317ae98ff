package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What one deployment should be.
 *
 * @param id of the deployment
 * @param build of the application's code that its replicas are made by
 * @param version tells replicas as they should be from others
 * @param settings of every replica; their number is how many should run
 * @param revision of the application that asks for it, for people, who ask for the same by several:
 *     no part of what makes two equal; 0 when that is not known
 */
public record DeploymentTarget(
    DeploymentId id, String build, DeploymentVersion version, Settings settings, long revision) {

  /** As code makes it, which does not know what asks for it. */
  public DeploymentTarget(
      DeploymentId id, String build, DeploymentVersion version, Settings settings) {
    this(id, build, version, settings, 0);
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

  /** The same, asked for by a revision of the application. */
  DeploymentTarget of(long asking) {
    return new DeploymentTarget(id, build, version, settings, asking);
  }

  /** The same with another number of replicas. */
  public DeploymentTarget withReplicas(int replicas) {
    return new DeploymentTarget(
        id, build, version, DeploymentConfig.withReplicas(settings, replicas), revision);
  }
}
