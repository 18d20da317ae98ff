/**
 * How many replicas a deployment that follows its load should have: plain functions of what was
 * reported, of the rules and of a time that comes from outside. Nothing here reads a clock, sends,
 * or starts a replica. {@link dev.berth.controller.autoscaling.Scaling} is what the controller
 * keeps of a deployment, on its own loop; {@link dev.berth.controller.autoscaling.Autoscaler}
 * decides; {@link dev.berth.controller.autoscaling.Replay} asks what other rules would have done.
 *
 * <p>Source: Ray Serve's autoscaling_policy and autoscaling_state; where Berth differs a key takes
 * Ray's way. The stabilisation window is Kubernetes' HPA's, the panic window Knative's.
 */
@NullMarked
package dev.berth.controller.autoscaling;

import org.jspecify.annotations.NullMarked;
