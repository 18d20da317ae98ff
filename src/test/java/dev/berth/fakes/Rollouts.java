package dev.berth.fakes;

import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;

/** What may be said of how the replicas of a deployment are replaced, to put it below the rest. */
public final class Rollouts {

  /** Nothing said. */
  public static final Settings DEFAULTS = DeploymentConfig.of("any");

  private Rollouts() {}

  /** By shares of the replicas, with so many percent beyond them, given up after some failures. */
  public static Settings of(double share, double surge, int failures) {
    return DEFAULTS
        .with(DeploymentConfig.ROLLING_UPDATE_PERCENTAGE, share)
        .with(DeploymentConfig.MAX_SURGE_PERCENT, surge)
        .with(DeploymentConfig.MAX_CONSTRUCTOR_RETRY_COUNT, failures);
  }
}
