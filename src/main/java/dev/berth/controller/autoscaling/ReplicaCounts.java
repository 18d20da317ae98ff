package dev.berth.controller.autoscaling;

/**
 * The replicas of a deployment in the view of autoscaling, with two external constraints on their
 * number.
 *
 * @param running replicas that serve, of any version
 * @param starting replicas with a start command that do not serve yet
 * @param target wanted number of replicas
 * @param paused whether an operator set the number by {@code berth scale}; it then holds, and every
 *     delay restarts afterwards
 * @param rollingOut whether replicas are being replaced. Scaling up continues; scaling down waits
 *     for the end, since a rollout in turn waits for it. False for a rollout frozen by failures,
 *     which may last: the deployment then scales both ways
 */
public record ReplicaCounts(
    int running, int starting, int target, boolean paused, boolean rollingOut) {

  /** Returns a fleet that is neither paused nor rolling out. */
  public static ReplicaCounts of(int running, int starting, int target) {
    return new ReplicaCounts(running, starting, target, false, false);
  }
}
