package dev.berth.controller;

import dev.berth.controller.autoscaling.DeploymentLoad;
import dev.berth.controller.autoscaling.ScalingDecision;
import dev.berth.controller.autoscaling.ScalingInputs;
import dev.berth.view.ScalingDetails;
import java.util.List;
import java.util.Map;

/**
 * All that is known of how a deployment follows its load.
 *
 * @param now in short
 * @param inputs what would be decided from now
 * @param demand what its instances said last, summed
 * @param stats what its replicas tell of themselves, by replica and name, as a policy is shown it
 * @param policyFailures answers of the policy that were none
 * @param decisions the last ones, the newest first
 */
public record ScalingView(
    ScalingDetails now,
    ScalingInputs inputs,
    DeploymentLoad demand,
    Map<String, Map<String, Double>> stats,
    long policyFailures,
    List<ScalingDecision> decisions) {}
