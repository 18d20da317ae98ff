package dev.berth.controller.autoscaling;

import java.util.Locale;

/**
 * One decision with its reasons.
 *
 * @param atNanos when
 * @param inputs of what
 * @param raw replicas by the ratio or by the policy
 * @param scaled the same by the factor of its direction
 * @param bounded the same within the bounds
 * @param wanted the same by the stabilisation window
 * @param replicas that there are to be from now on
 * @param reason why so many
 * @param untilNanos end of the delay that runs; {@code Long.MAX_VALUE} for none
 * @param state for the next decision; its {@code sinceNanos} is the delay's begin
 * @param wakeNanos when to decide again though nothing is reported; {@code Long.MAX_VALUE} for
 *     never
 */
public record ScalingDecision(
    long atNanos,
    ScalingInputs inputs,
    double raw,
    int scaled,
    int bounded,
    int wanted,
    int replicas,
    Reason reason,
    long untilNanos,
    ScalingState state,
    long wakeNanos) {

  /** What decided. */
  public enum Reason {
    SCALED_UP("more were wanted for upscale_delay_s"),
    SCALED_DOWN("fewer were wanted for the delay"),
    COLD_START("requests wait and nothing runs: delays do not apply"),
    PANIC_UP("the load in panic_window_s is beyond panic_threshold: delays do not apply"),
    BOUNDS("their number was outside the bounds"),
    STEADY("as many are wanted"),
    AT_BOUND("the bounds allow no other number"),
    DELAY("another number is wanted, not for the delay yet"),
    STABILIZING("another number is wanted, not all through stabilization_window_s"),
    STARTING("more are wanted, but what was asked for does not run yet, or only just"),
    UNKNOWN("fewer are wanted, but not every instance has reported lately"),
    PANIC("fewer are wanted, but the load was beyond panic_threshold lately"),
    ROLLOUT("fewer are wanted; a rollout is under way and ends first"),
    POLICY("the policy gave no number"),
    PAUSED("berth scale set their number: autoscaling waits for berth scale --auto");

    private final String sentence;

    Reason(String sentence) {
      this.sentence = sentence;
    }
  }

  /** Whether the number is another than it was. */
  public boolean changes() {
    return replicas != inputs.fleet().target();
  }

  /** The load that it was decided from: without replicas that of now, in panic the higher one. */
  public double load() {
    return switch (reason) {
      case COLD_START -> inputs.latest();
      case PANIC_UP -> Math.max(inputs.total(), inputs.panic());
      default -> inputs.total();
    };
  }

  /** Whether it says the same as an earlier one, apart from its figures. */
  public boolean repeats(ScalingDecision earlier) {
    return !changes()
        && reason == earlier.reason
        && replicas == earlier.replicas
        && !earlier.changes();
  }

  /** The same in a line: from how many replicas to how many, of what load, and why. */
  public String told() {
    Fleet fleet = inputs.fleet();
    String from = changes() ? fleet.target() + " -> " : "";
    String of = "%s%d replicas, %d running, load %.1f: %s";
    return String.format(Locale.ROOT, of, from, replicas, fleet.running(), inputs.total(), why());
  }

  /** What decided, in a sentence, with what the policy did wrong. */
  public String why() {
    PolicyAnswer policy = inputs.policy();
    boolean failed = reason == Reason.POLICY && policy != null && policy.failure() != null;
    return failed ? reason.sentence + ": " + policy.failure() : reason.sentence;
  }
}
