/**
 * HTTPS between nodes: transfer of code, and operators' requests that any node accepts.
 * Constructors receive the ports to the rest of the cluster.
 */
@NullMarked
package dev.berth.cluster.http;

import org.jspecify.annotations.NullMarked;
