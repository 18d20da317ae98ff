/**
 * Decides which replicas should run: from declared and observed state it derives the next actions.
 * One controller is active in a cluster, on the control event loop. Decisions are plain functions
 * of the reported state and the time. The data plane never waits for the controller: without one,
 * routing continues with the last snapshot. Three guarantees hold. The controller starts at most
 * the wanted replicas plus the surge. Each replica has an owner. Without further changes the
 * running state converges to the declared state.
 *
 * <p>Source: Ray Serve's controller; the states and their rules are its own.
 */
@NullMarked
package dev.berth.controller;

import org.jspecify.annotations.NullMarked;
