/**
 * What is shown and written of deployments whose number of replicas follows their load, and what
 * other rules would have made of it.
 */
@NullMarked
package dev.berth.node.scaling;

import org.jspecify.annotations.NullMarked;
