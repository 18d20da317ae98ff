/**
 * Decides the number of replicas of autoscaled deployments by plain functions of load reports,
 * rules and an injected time. The package reads no clock, sends no message and starts no replica.
 * {@link dev.berth.controller.autoscaling.DeploymentAutoscaler} is the controller's state of one
 * deployment, confined to its loop. {@link dev.berth.controller.autoscaling.Autoscaler} decides.
 * {@link dev.berth.controller.autoscaling.AutoscalingReplay} evaluates other rules on a recorded
 * load.
 *
 * <p>Source: Ray Serve's autoscaling_policy and autoscaling_state; where Berth differs, a key
 * selects Ray's behaviour. The stabilisation window follows Kubernetes' HPA, the panic window
 * Knative.
 */
@NullMarked
package dev.berth.controller.autoscaling;

import org.jspecify.annotations.NullMarked;
