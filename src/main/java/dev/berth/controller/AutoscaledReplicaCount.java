package dev.berth.controller;

import org.jspecify.annotations.Nullable;

/**
 * The autoscaled number of replicas of a deployment, in its persisted form.
 *
 * @param replicas last wanted number of replicas
 * @param paused whether an operator set that number; it then holds until autoscaling is resumed
 * @param policyState state that is passed to the policy on its next call, in JSON; null when the
 *     policy has none
 */
public record AutoscaledReplicaCount(int replicas, boolean paused, @Nullable String policyState) {}
