package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;

/**
 * What one deployment should be.
 *
 * @param id of the deployment
 * @param build of the application's code that its replicas are made by
 * @param version tells replicas as they should be from others
 * @param settings of every replica; their number is how many should run
 */
public record DeploymentTarget(
    DeploymentId id, String build, DeploymentVersion version, Settings settings) {

  /** The same with another number of replicas. */
  public DeploymentTarget withReplicas(int replicas) {
    return new DeploymentTarget(
        id, build, version, DeploymentConfig.withReplicas(settings, replicas));
  }
}
