/**
 * Reservations that outlive a request: slots held under a token for a client that comes back, and
 * the keys by which it may repeat itself.
 */
@NullMarked
package dev.berth.routing.reserve;

import org.jspecify.annotations.NullMarked;
