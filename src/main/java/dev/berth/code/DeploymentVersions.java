package dev.berth.code;

import dev.berth.config.DeploymentSettings;
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
  static DeploymentVersion of(
      String build, DeploymentSettings settings, @Nullable String routePrefix) {
    String named = settings.rollout().codeVersion();
    Fingerprint code = new Fingerprint();
    if (named == null) {
      code.add("build", build);
    } else {
      code.add("version", named);
    }
    code.add("spread", settings.spread());
    Fingerprint live =
        new Fingerprint()
            .add("user_config", settings.userConfig())
            .add("max_ongoing_requests", settings.maxOngoingRequests())
            .add("graceful_shutdown_timeout_s", settings.gracefulShutdownTimeout())
            .add("health_check_period_s", settings.healthCheckPeriod())
            .add("health_check_timeout_s", settings.healthCheckTimeout())
            .add("logging_config", settings.logging())
            .add("max_constructor_retry_count", settings.rollout().maxStartFailures())
            .add("reservation_ttl_s", settings.reservationTtl())
            .add("cancel_grace_s", settings.cancelGrace())
            .add("max_zombie_requests", settings.maxZombieRequests())
            .add("max_buffered_body_bytes", settings.maxBufferedBodyBytes())
            .add("route_prefix", routePrefix);
    return new DeploymentVersion(code.toString(), live.toString());
  }
}
