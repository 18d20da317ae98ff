package dev.berth.controller;

/**
 * The identity of a deployment's code and settings. The number of replicas, the queue limit and the
 * pace of updates are excluded: they change nothing in a replica.
 *
 * <p>Source: Ray Serve's {@code DeploymentVersion}, with other names for its hashes.
 *
 * @param code hash of the settings that need a restart: code, arguments, handler threads
 * @param live hash of the settings that a running replica can apply: user_config, slots, health
 *     checks, graces
 */
public record DeploymentVersion(String code, String live) {

  /** Returns whether a replica of the other version must restart to reach this version. */
  public boolean needsRestartFrom(DeploymentVersion other) {
    return !code.equals(other.code);
  }

  /** Returns the text form for people and logs. */
  @Override
  public String toString() {
    return code + "." + live;
  }
}
