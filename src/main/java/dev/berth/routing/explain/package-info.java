/**
 * Writes down what befalls a request that is explained: its steps, the replicas as it found them,
 * and its time in each phase. It is told by requests and asks nothing of them.
 */
@NullMarked
package dev.berth.routing.explain;

import org.jspecify.annotations.NullMarked;
