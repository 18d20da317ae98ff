/**
 * The clustered event bus of Vert.x between the nodes of a cluster. The member list of the
 * controller determines the peers, and an address of Berth contains the name of its receiver, so
 * that consensus stores nothing for the bus.
 */
@NullMarked
package dev.berth.cluster.bus;

import org.jspecify.annotations.NullMarked;
