/**
 * Keeps the routers' snapshots of replicas up to date: pulled at the start of a router, changed by
 * deltas, pulled again after a gap.
 */
@NullMarked
package dev.berth.routing.feed;

import org.jspecify.annotations.NullMarked;
