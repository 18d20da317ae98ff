package dev.berth.api.spi;

import dev.berth.api.DeploymentId;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Custom policy that returns the desired number of replicas of a deployment. Replaces the default
 * policy, the ratio of ongoing requests to their target.
 *
 * <p><b>Declaration.</b> {@code autoscaling_config.policy.policy_function} names the class for one
 * deployment. {@code autoscaling_policy} of an application names it for all its deployments that
 * autoscale. One object is created, by a constructor that accepts the map of {@code policy_kwargs}
 * or by one without parameters.
 *
 * <p><b>Concurrency.</b> Called once per second, one call at a time, on a thread that may block.
 * The last decision applies while a call runs. A call without a result after 10 s is interrupted;
 * the next call starts after it has ended.
 *
 * <p><b>Contract.</b> A policy computes its decision from its {@link Context}, and stores data for
 * later calls only in its state. Berth then applies scaling factors, bounds and delays, as Ray
 * Serve does. A deployment without replicas that has requests receives its first replica at once,
 * whatever the policy returns.
 *
 * <p><b>Failure.</b> An invalid decision (null, NaN, negative, above 10 000), an exception and a
 * timeout change nothing. They are counted and reported with the decision.
 *
 * <p>Source: Ray Serve's custom autoscaling policies and AutoscalingContext.
 */
@FunctionalInterface
public interface AutoscalingPolicy {

  /** Returns the decision for one deployment. */
  Answer decide(Context context);

  /**
   * Returns the decisions for the deployments of an application; by default calls {@link #decide}
   * for each. A deployment missing from the result keeps its number of replicas.
   */
  default Map<DeploymentId, Answer> decideAll(Map<DeploymentId, Context> contexts) {
    Map<DeploymentId, Answer> answers = new LinkedHashMap<>();
    contexts.forEach((deployment, context) -> answers.put(deployment, decide(context)));
    return answers;
  }

  /**
   * The decision of a policy.
   *
   * @param replicas desired number of replicas; a fraction is rounded up after the scaling factor
   * @param state passed to the next call, also by a later controller, which may have a state that
   *     is 10 s old. Supports maps, lists, strings, booleans, null, int, long and finite double; at
   *     most 16 384 characters of JSON and 32 levels.
   */
  record Answer(double replicas, Map<String, @Nullable Object> state) {
    public Answer {
      state = Collections.unmodifiableMap(new LinkedHashMap<>(state)); // copy that permits nulls
    }

    /** Returns a decision with a number of replicas and an empty state. */
    public static Answer of(double replicas) {
      return new Answer(replicas, Map.of());
    }
  }

  /**
   * The current condition of a deployment.
   *
   * @param deployment the deployment
   * @param running number of replicas that serve
   * @param target number of replicas that are currently desired
   * @param minReplicas minimum number of replicas, at the deployment's capacity
   * @param maxReplicas maximum number of replicas, at the deployment's capacity
   * @param targetOngoingRequests target number of requests per replica
   * @param totalRequests queued and running requests, aggregated over the look-back window
   * @param latestRequests queued and running requests, as last reported
   * @param stats values of {@code recordAutoscalingStats} of the serving replicas, by replica and
   *     name, aggregated over the look-back window as requests are. A replica is absent if it
   *     reported no values within that window, or within the period after which an instance counts
   *     as silent.
   * @param state the state of the last decision; initially empty
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
