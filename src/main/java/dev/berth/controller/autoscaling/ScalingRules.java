package dev.berth.controller.autoscaling;

import dev.berth.config.AutoscalingOptions;
import dev.berth.config.AutoscalingOptions.Aggregation;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import java.time.Duration;

/**
 * What a decision needs of {@code autoscaling_config} and {@code berth.autoscaling}. The names are
 * the keys'; times are in nanoseconds.
 *
 * @param minReplicas fewest, at the deployment's capacity
 * @param maxReplicas most, at the deployment's capacity
 * @param target requests that each replica is to have, above 0
 * @param lookBackNanos the window whose load counts
 * @param aggregation what is made of the load in it
 * @param upFactor share of the missing replicas that one decision adds
 * @param downFactor share of the surplus that one decision takes away
 * @param upDelayNanos for which more must be wanted
 * @param downDelayNanos for which fewer must be wanted
 * @param toZeroDelayNanos the same for the last replica
 * @param countReserved whether held slots are load
 * @param countStarting whether what was asked for and does not run yet is waited for
 * @param stabilizationNanos the window whose extreme want decides; 0 is the last want alone
 * @param panicNanos the short window; 0 is none
 * @param panicThreshold how often more than run must be wanted in it
 */
public record ScalingRules(
    int minReplicas,
    int maxReplicas,
    double target,
    long lookBackNanos,
    Aggregation aggregation,
    double upFactor,
    double downFactor,
    long upDelayNanos,
    long downDelayNanos,
    long toZeroDelayNanos,
    boolean countReserved,
    boolean countStarting,
    long stabilizationNanos,
    long panicNanos,
    double panicThreshold) {

  /**
   * @param deployment settings of one that autoscales, its bounds at its capacity already
   */
  public static ScalingRules of(Settings deployment) {
    Settings config = deployment.get(DeploymentConfig.AUTOSCALING_CONFIG);
    Settings own = deployment.get(DeploymentConfig.AUTOSCALING);
    Duration panic = own.find(AutoscalingOptions.PANIC_WINDOW_S);
    return new ScalingRules(
        config.get(AutoscalingOptions.MIN_REPLICAS),
        config.get(AutoscalingOptions.MAX_REPLICAS),
        config.get(AutoscalingOptions.TARGET_ONGOING_REQUESTS),
        config.get(AutoscalingOptions.LOOK_BACK_PERIOD_S).toNanos(),
        config.get(AutoscalingOptions.AGGREGATION_FUNCTION),
        config.get(AutoscalingOptions.UPSCALING_FACTOR),
        config.get(AutoscalingOptions.DOWNSCALING_FACTOR),
        config.get(AutoscalingOptions.UPSCALE_DELAY_S).toNanos(),
        config.get(AutoscalingOptions.DOWNSCALE_DELAY_S).toNanos(),
        config.get(AutoscalingOptions.DOWNSCALE_TO_ZERO_DELAY_S).toNanos(),
        own.get(AutoscalingOptions.COUNT_RESERVED),
        own.get(AutoscalingOptions.COUNT_STARTING),
        own.get(AutoscalingOptions.STABILIZATION_WINDOW_S).toNanos(),
        panic == null ? 0 : panic.toNanos(),
        own.get(AutoscalingOptions.PANIC_THRESHOLD));
  }

  /** So many replicas, or the nearest number within the bounds. */
  public int bounded(int replicas) {
    return Math.max(minReplicas, Math.min(maxReplicas, replicas));
  }

  /**
   * So many by the factor of their direction. Of what runs, not of what is wanted, as in Ray Serve:
   * a decision repeated while nothing starts is the same. A step down that rounding takes away is
   * one replica, so that none is stuck.
   */
  int scaled(double wanted, int running) {
    if (running == 0) {
      return (int) Math.ceil(wanted); // a factor of nothing would grow with each look
    }
    double delta = wanted - running;
    int scaled = (int) Math.ceil(running + (delta > 0 ? upFactor : downFactor) * delta);
    boolean stuck = scaled == running && Math.ceil(wanted) < running;
    return Math.max(0, stuck ? scaled - 1 : scaled);
  }
}
