package dev.berth.api.spi;

import dev.berth.api.DeploymentId;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Says how many replicas a deployment should have, in place of the ratio of its requests to its
 * target. Named by {@code autoscaling_config.policy.policy_function} for one deployment, or by
 * {@code autoscaling_policy} of an application for all of its deployments that autoscale, it is
 * made once, by a constructor that takes the map of {@code policy_kwargs} or by one that takes
 * nothing.
 *
 * <p>It is asked once a second, one ask at a time, on a thread that may block; while it answers its
 * last answer holds. What it must keep to: it answers from what it is shown and keeps what it wants
 * to remember in its state; after 10 s without an answer it is interrupted, and asked again when it
 * has ended. What Berth does with its answer, as Ray Serve does: scaling factors, bounds and delays
 * are applied afterwards, and a deployment without replicas that has requests gets its first one at
 * once, whatever the policy says. An answer that is none (null, no number, negative, beyond 10
 * 000), an exception and a timeout change nothing; they are counted, and shown with the decision.
 *
 * <p>Source: Ray Serve's custom autoscaling policies and AutoscalingContext.
 */
@FunctionalInterface
public interface AutoscalingPolicy {

  /** For one deployment. */
  Answer decide(Context context);

  /**
   * For the deployments of an application together; by default each for itself. One that is missing
   * in the answer keeps its number.
   */
  default Map<DeploymentId, Answer> decideAll(Map<DeploymentId, Context> contexts) {
    Map<DeploymentId, Answer> answers = new LinkedHashMap<>();
    contexts.forEach((deployment, context) -> answers.put(deployment, decide(context)));
    return answers;
  }

  /**
   * What a policy wants.
   *
   * @param replicas so many, a fraction being rounded up after the scaling factor
   * @param state shown to it the next time, also by a later controller, which may have one that is
   *     10 s old: maps, lists, strings, booleans, null, int, long and finite double, at most 16 384
   *     characters of JSON and 32 levels
   */
  record Answer(double replicas, Map<String, @Nullable Object> state) {
    public Answer {
      state = Collections.unmodifiableMap(new LinkedHashMap<>(state)); // a copy that has nulls
    }

    /** A number, and nothing to remember. */
    public static Answer of(double replicas) {
      return new Answer(replicas, Map.of());
    }
  }

  /**
   * A deployment as it stands.
   *
   * @param deployment of which it is
   * @param running replicas that serve
   * @param target replicas that are wanted now
   * @param minReplicas fewest it may have, at its capacity
   * @param maxReplicas most it may have, at its capacity
   * @param targetOngoingRequests that each replica is to have
   * @param totalRequests waiting and running, aggregated over the look-back window
   * @param latestRequests the same as reported last
   * @param stats what replicas that serve tell of themselves by {@code recordAutoscalingStats}, by
   *     replica and name, aggregated over the look-back window as requests are; without one that
   *     tells nothing, or has not for that window or as long as an instance counts as silent
   * @param state of its last answer; empty at first
   */
  record Context(
      DeploymentId deployment,
      int running,
      int target,
      int minReplicas,
      int maxReplicas,
      double targetOngoingRequests,
      double totalRequests,
      double latestRequests,
      Map<String, Map<String, Double>> stats,
      Map<String, @Nullable Object> state) {}
}
