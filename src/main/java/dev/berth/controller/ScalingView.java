package dev.berth.controller;

import dev.berth.controller.autoscaling.DeploymentLoad;
import dev.berth.controller.autoscaling.ScalingDecision;
import dev.berth.controller.autoscaling.ScalingInputs;
import dev.berth.view.ScalingDetails;
import java.util.List;
import java.util.Map;

/**
 * The complete autoscaling state of a deployment, for operators.
 *
 * @param now summary
 * @param inputs of a decision made now
 * @param demand last load reports of its instances, summed
 * @param stats reported by its replicas, by replica and name, as a policy receives them
 * @param policyFailures failed replies of the policy
 * @param decisions last ones, newest first
 */
public record ScalingView(
    ScalingDetails now,
    ScalingInputs inputs,
    DeploymentLoad demand,
    Map<String, Map<String, Double>> stats,
    long policyFailures,
    List<ScalingDecision> decisions) {}
