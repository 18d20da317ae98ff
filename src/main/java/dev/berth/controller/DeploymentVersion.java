package dev.berth.controller;

/**
 * What distinguishes replicas of one deployment. The number of replicas, the bound of the queue and
 * the pace of updates are no part of it: they need nothing of a replica.
 *
 * <p>Source: Ray Serve's {@code DeploymentVersion}, with other names for its hashes.
 *
 * @param code what a replica must be started anew for: code, arguments, where its handlers run
 * @param live what a running replica can be given: its user_config, slots, health checks, graces
 */
public record DeploymentVersion(String code, String live) {

  /** Whether a replica of the other version must be started anew to be of this one. */
  public boolean needsRestartFrom(DeploymentVersion other) {
    return !code.equals(other.code);
  }

  /** For people and logs. */
  @Override
  public String toString() {
    return code + "." + live;
  }
}
