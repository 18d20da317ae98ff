package dev.berth.controller;

import org.jspecify.annotations.Nullable;

/**
 * The number of replicas of a deployment that follows its load, as it is kept.
 *
 * @param replicas that were wanted last
 * @param paused whether an operator set that number, so that it holds until autoscaling is to go on
 * @param policyState what a policy is given again, in JSON; null when it keeps nothing
 */
public record Autoscaled(int replicas, boolean paused, @Nullable String policyState) {}
