package dev.berth.controller.autoscaling;

import dev.berth.config.AutoscalingOptions;
import dev.berth.config.AutoscalingOptions.AggregationFunction;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import java.time.Duration;

/**
 * The settings of {@code autoscaling_config} and {@code berth.autoscaling} that a decision needs.
 * The names are those of the keys; times are in nanoseconds.
 *
 * @param minReplicas minimum, at the deployment's capacity
 * @param maxReplicas maximum, at the deployment's capacity
 * @param target ongoing requests per replica, above 0
 * @param lookBackNanos window of the load
 * @param aggregation of the load in the window
 * @param upFactor share of the missing replicas that one decision adds
 * @param downFactor share of the surplus that one decision removes
 * @param upDelayNanos time during which more must be wanted
 * @param downDelayNanos time during which fewer must be wanted
 * @param toZeroDelayNanos the same for the last replica
 * @param countReserved whether reserved slots count as load
 * @param countStarting whether starting replicas are awaited
 * @param stabilizationNanos window of the wanted numbers; 0 for the last one alone
 * @param panicNanos short window; 0 for none
 * @param panicThreshold multiple of the present replicas that must be wanted in it
 */
public record ScalingRules(
    int minReplicas,
    int maxReplicas,
    double target,
    long lookBackNanos,
    AggregationFunction aggregation,
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
   * Returns the rules of a deployment.
   *
   * @param deployment settings of an autoscaled deployment, its bounds at its capacity
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

  /** Returns the nearest number of replicas within the bounds. */
  public int bounded(int replicas) {
    return Math.max(minReplicas, Math.min(maxReplicas, replicas));
  }

  /**
   * Applies the factor of the direction to a wanted number. The base is the running replicas, not
   * the wanted ones, as in Ray Serve: a repeated decision is the same while none starts. A downward
   * step that rounding removes becomes one replica, so that scaling never gets stuck.
   */
  int scaled(double wanted, int running) {
    if (running == 0) {
      return (int) Math.ceil(wanted); // without a base the factor would compound with each decision
    }
    double delta = wanted - running;
    int scaled = (int) Math.ceil(running + (delta > 0 ? upFactor : downFactor) * delta);
    boolean stuck = scaled == running && Math.ceil(wanted) < running;
    return Math.max(0, stuck ? scaled - 1 : scaled);
  }
}
