package dev.berth.controller;

import dev.berth.controller.autoscaling.ScalingDecision;
import dev.berth.controller.autoscaling.ScalingInputs;
import dev.berth.protocol.ScalingDetails;
import java.util.List;

/**
 * All that is known of how a deployment follows its load.
 *
 * @param now in short
 * @param inputs what would be decided from now
 * @param demand what its instances said last, summed
 * @param policyFailures answers of the policy that were none
 * @param decisions the last ones, the newest first
 */
public record ScalingView(
    ScalingDetails now,
    ScalingInputs inputs,
    DeploymentLoad demand,
    long policyFailures,
    List<ScalingDecision> decisions) {}
