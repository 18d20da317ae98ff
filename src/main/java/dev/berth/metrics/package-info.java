/**
 * Metrics: meters for Prometheus, and one report per instance and push interval to the controller,
 * regardless of the number of loops, handles and applications. Counters are adders, or have one
 * writer thread; the pusher is confined to the control loop. A gauge is the difference of paired
 * counters, so it returns to zero and is never negative.
 *
 * <p>Source: Ray #55016 (one push of handle metrics per process); names of meters follow Ray Serve.
 */
@NullMarked
package dev.berth.metrics;

import org.jspecify.annotations.NullMarked;
