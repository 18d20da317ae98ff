/**
 * The clustered event bus of Vert.x between the nodes of a cluster, for what may be lost: metrics,
 * status, log and explain queries. Who is there is said from outside, and who receives an address
 * stands in the address; nothing is agreed upon, so there is nothing to repair.
 */
@NullMarked
package dev.berth.cluster.bus;

import org.jspecify.annotations.NullMarked;
