/** Metrics and records of autoscaled deployments, and the replay of a record under other rules. */
@NullMarked
package dev.berth.node.scaling;

import org.jspecify.annotations.NullMarked;
