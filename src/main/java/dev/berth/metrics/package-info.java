/**
 * Counts what happened and says it to others: meters for Prometheus, and one report per instance
 * and push interval to the controller, whatever the number of loops, handles and applications.
 * Counters are written by one thread or are adders; the pusher belongs to the control event loop. A
 * gauge is the difference of paired counters, so it returns to zero and never below.
 *
 * <p>Source: Ray #55016 (one push of handle metrics per process); names of meters follow Ray Serve.
 */
@NullMarked
package dev.berth.metrics;

import org.jspecify.annotations.NullMarked;
