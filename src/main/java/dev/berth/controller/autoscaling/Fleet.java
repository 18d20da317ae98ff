package dev.berth.controller.autoscaling;

/**
 * The replicas of a deployment as autoscaling sees them, and who else has a say in their number.
 *
 * @param running that serve, of any version
 * @param starting that were told to start and do not serve yet
 * @param target how many are wanted now
 * @param paused an operator set their number by {@code berth scale}: it holds, and every delay
 *     begins anew afterwards
 * @param rollingOut replicas are being replaced: more may be started, fewer wait until it is over,
 *     since a rollout in turn waits for what is scaled down. Not set for a rollout that is frozen
 *     by failures: what serves is scaled both ways then, for that may last
 */
public record Fleet(int running, int starting, int target, boolean paused, boolean rollingOut) {

  /** One that nothing else has a say in. */
  public static Fleet of(int running, int starting, int target) {
    return new Fleet(running, starting, target, false, false);
  }
}
