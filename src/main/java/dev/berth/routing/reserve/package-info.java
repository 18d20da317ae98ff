/**
 * Reservations that outlive a request: slots held under a token for a client that returns, and the
 * idempotency keys for its repeats.
 */
@NullMarked
package dev.berth.routing.reserve;

import org.jspecify.annotations.NullMarked;
