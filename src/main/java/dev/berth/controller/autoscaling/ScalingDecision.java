package dev.berth.controller.autoscaling;

import java.util.Locale;

/**
 * A decision about the number of replicas, with its reasons.
 *
 * @param atNanos time of the decision
 * @param inputs of the decision
 * @param raw replicas by the ratio or by the policy
 * @param scaled raw number, changed by the factor of its direction
 * @param bounded scaled number within the bounds
 * @param wanted bounded number after the stabilisation window
 * @param replicas number of replicas from now on
 * @param reason of that number
 * @param untilNanos end of the running delay; {@code Long.MAX_VALUE} for none
 * @param state for the next decision; its {@code sinceNanos} is the begin of the delay
 * @param wakeNanos time of the next decision without a report; {@code Long.MAX_VALUE} for never
 */
public record ScalingDecision(
    long atNanos,
    ScalingInputs inputs,
    double raw,
    int scaled,
    int bounded,
    int wanted,
    int replicas,
    ScalingReason reason,
    long untilNanos,
    ScalingState state,
    long wakeNanos) {

  /** The rule that decided. */
  public enum ScalingReason {
    SCALED_UP("more were wanted for upscale_delay_s"),
    SCALED_DOWN("fewer were wanted for the delay"),
    COLD_START("requests wait and no replica runs: delays do not apply"),
    PANIC_UP("the load in panic_window_s exceeds panic_threshold: delays do not apply"),
    BOUNDS("the number was outside the bounds"),
    STEADY("the number fits the load"),
    AT_BOUND("the bounds allow no other number"),
    DELAY("another number is wanted, but not yet for the delay"),
    STABILIZING("another number is wanted, but not throughout stabilization_window_s"),
    STARTING("more are wanted, but requested replicas are still starting"),
    UNKNOWN("fewer are wanted, but not every instance has reported recently"),
    PANIC("fewer are wanted, but the load exceeded panic_threshold recently"),
    ROLLOUT("fewer are wanted, after the current rollout"),
    POLICY("the policy returned no number"),
    PAUSED("berth scale set the number: autoscaling is paused until berth scale --auto");

    private final String sentence;

    ScalingReason(String sentence) {
      this.sentence = sentence;
    }
  }

  /** Returns whether the number of replicas changes. */
  public boolean changes() {
    return replicas != inputs.fleet().target();
  }

  /** Returns the load that decided: without replicas the latest, in panic the higher one. */
  public double load() {
    return switch (reason) {
      case COLD_START -> inputs.latest();
      case PANIC_UP -> Math.max(inputs.total(), inputs.panic());
      default -> inputs.total();
    };
  }

  /**
   * Returns whether it equals an earlier decision apart from the figures: neither changes the
   * number, and the reason is the same.
   */
  public boolean repeats(ScalingDecision earlier) {
    return !changes()
        && reason == earlier.reason
        && replicas == earlier.replicas
        && !earlier.changes();
  }

  /** Returns the decision in a line: replicas before and after, load and reason. */
  public String summary() {
    ReplicaCounts fleet = inputs.fleet();
    String from = changes() ? fleet.target() + " -> " : "";
    String of = "%s%d replicas, %d running, load %.1f: %s";
    return String.format(Locale.ROOT, of, from, replicas, fleet.running(), inputs.total(), why());
  }

  /** Returns the reason in a sentence, with the error of the policy. */
  public String why() {
    PolicyAnswer policy = inputs.policy();
    boolean failed = reason == ScalingReason.POLICY && policy != null && policy.failure() != null;
    return failed ? reason.sentence + ": " + policy.failure() : reason.sentence;
  }
}
