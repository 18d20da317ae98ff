/**
 * Decides what should run: from declared and observed state it derives the next actions. One active
 * controller in a cluster, on the control event loop; decisions are plain functions of what was
 * reported and of the time. The data plane never waits for it: without a controller, requests flow
 * on with the last snapshot. It promises never more replicas than wanted and the surge, no replica
 * without an owner, and that left alone everything ends up as declared.
 *
 * <p>Source: Ray Serve's controller; the states and their rules are its own.
 */
@NullMarked
package dev.berth.controller;

import org.jspecify.annotations.NullMarked;
