package dev.berth.controller.autoscaling;

import dev.berth.api.spi.AutoscalingPolicy;
import dev.berth.config.AutoscalingOptions;
import org.jspecify.annotations.Nullable;

/**
 * The result of a call to a user-defined policy. Without a number nothing changes.
 *
 * @param replicas wanted number before factors, bounds and delays; null for none
 * @param failure error message; null for a valid reply
 */
public record PolicyAnswer(@Nullable Double replicas, @Nullable String failure) {

  /** Reply without an entry for the deployment, as a policy of an application may return. */
  public static final PolicyAnswer NOTHING = new PolicyAnswer(null, null);

  /** Converts the reply of a policy; an invalid number of replicas is a failure. */
  public static PolicyAnswer of(AutoscalingPolicy.@Nullable Answer answer) {
    double replicas = answer == null ? Double.NaN : answer.replicas();
    if (replicas >= 0 && replicas <= AutoscalingOptions.REPLICAS_LIMIT) {
      return new PolicyAnswer(replicas, null);
    }
    String said = answer == null ? "null" : Double.toString(replicas);
    return ofFailure(
        "replicas: " + said + " (expected: 0 to " + AutoscalingOptions.REPLICAS_LIMIT + ")");
  }

  /** Returns the result of a policy that threw or timed out. */
  public static PolicyAnswer ofFailure(String why) {
    return new PolicyAnswer(null, why);
  }
}
