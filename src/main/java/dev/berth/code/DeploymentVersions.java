package dev.berth.code;

import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Reach;
import dev.berth.config.keys.Settings;
import dev.berth.controller.DeploymentVersion;
import org.jspecify.annotations.Nullable;

/**
 * Which change of a deployment needs what: other code needs new replicas, other settings of a
 * replica are given to those that run, and what only the controller and the routers use needs
 * nothing of a replica.
 *
 * <p>Source: Ray Serve's {@code DeploymentVersion}; {@code DeploymentVersionsTest} names each key.
 */
final class DeploymentVersions {
  private DeploymentVersions() {}

  /**
   * @param build identity of the application's code
   * @param routePrefix where the application answers; null when it does not
   */
  static DeploymentVersion of(String build, Settings settings, @Nullable String routePrefix) {
    Fingerprint code = new Fingerprint();
    if (settings.find(DeploymentConfig.VERSION) == null) {
      code.add("build", build);
    }
    settings.reaching(Reach.REPLICA_ANEW).forEach(code::add);
    Fingerprint live = new Fingerprint().add("route_prefix", routePrefix);
    settings.reaching(Reach.REPLICA_LIVE).forEach(live::add);
    return new DeploymentVersion(code.toString(), live.toString());
  }
}
