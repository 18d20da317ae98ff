package dev.berth.code;

import dev.berth.config.DeploymentConfig;
import dev.berth.config.UpstreamOptions;
import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.Settings;
import dev.berth.controller.DeploymentVersion;
import org.jspecify.annotations.Nullable;

/**
 * Factory of deployment versions, which determine the effect of a change. Other code requires new
 * replicas. Other replica settings are sent to running replicas. Settings used only by the
 * controller and the routers do not affect replicas. Upstreams are never replaced: all changes are
 * sent to them.
 *
 * <p>Source: Ray Serve's {@code DeploymentVersion}; {@code DeploymentVersionsTest} names each key.
 */
final class DeploymentVersions {
  private DeploymentVersions() {}

  /**
   * Returns the version of a deployment.
   *
   * @param build identity of the application's code
   * @param routePrefix prefix of the application's route; null without HTTP
   */
  static DeploymentVersion of(String build, Settings settings, @Nullable String routePrefix) {
    Fingerprint code = new Fingerprint();
    if (UpstreamOptions.isGiven(settings)) {
      code.add("upstreams", null); // never replaced: an upstream is one replica
    } else {
      if (settings.find(DeploymentConfig.VERSION) == null) {
        code.add("build", build);
      }
      settings.reaching(ChangeReach.REPLICA_RECREATE).forEach(code::add);
    }
    Fingerprint live = new Fingerprint().add("route_prefix", routePrefix);
    settings.reaching(ChangeReach.REPLICA_LIVE).forEach(live::add);
    if (UpstreamOptions.isGiven(settings)) { // its replicas know whether they are the only ones
      live.add("fallback", settings.get(DeploymentConfig.FALLBACK));
      live.add("request_timeout_s", settings.find(DeploymentConfig.REQUEST_TIMEOUT_S));
    }
    return new DeploymentVersion(code.toString(), live.toString());
  }
}
