/**
 * Decides what should run: from declared and observed state it derives the next actions. One active
 * controller in a cluster, on the control event loop; decisions are plain functions of what was
 * reported and of the time. The data plane never waits for it: without a controller, requests flow
 * on with the last snapshot.
 *
 * <p>Source: Ray Serve's controller.
 */
@NullMarked
package dev.berth.controller;

import org.jspecify.annotations.NullMarked;
