package dev.berth.controller.autoscaling;

import dev.berth.api.spi.AutoscalingPolicy;
import dev.berth.config.AutoscalingOptions;
import org.jspecify.annotations.Nullable;

/**
 * What came of asking a policy of the user's own. Without a number nothing changes.
 *
 * @param replicas it wants, before factors, bounds and delays; null for none
 * @param failure what was wrong; null when nothing was
 */
public record PolicyAnswer(@Nullable Double replicas, @Nullable String failure) {

  /** It said nothing of the deployment, as a policy of an application may. */
  public static final PolicyAnswer NOTHING = new PolicyAnswer(null, null);

  /** An answer that is no number of replicas is a failure. */
  public static PolicyAnswer of(AutoscalingPolicy.@Nullable Answer answer) {
    double replicas = answer == null ? Double.NaN : answer.replicas();
    if (replicas >= 0 && replicas <= AutoscalingOptions.REPLICAS_LIMIT) {
      return new PolicyAnswer(replicas, null);
    }
    String said = answer == null ? "null" : Double.toString(replicas);
    return failed(
        "replicas: " + said + " (expected: 0 to " + AutoscalingOptions.REPLICAS_LIMIT + ")");
  }

  /** It threw, or took too long. */
  public static PolicyAnswer failed(String why) {
    return new PolicyAnswer(null, why);
  }
}
