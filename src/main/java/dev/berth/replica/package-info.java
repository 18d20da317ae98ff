/**
 * Owns the slots of the replicas on this instance, their life from start to drained, and the
 * running of user code. A ledger is thread-safe and any event loop of the instance may call it; a
 * replica's handler belongs to the loop of its verticle. A slot is freed when the handler has
 * settled, never before, and every slot taken ends in exactly one of complete, release and expiry.
 *
 * <p>Source: Ray #63252 (reserve / release of replica slots), with leases so that a dead caller
 * cannot keep a slot.
 */
@NullMarked
package dev.berth.replica;

import org.jspecify.annotations.NullMarked;
