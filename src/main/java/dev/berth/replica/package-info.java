/**
 * Owns the slots of the replicas on this instance, their lifecycle from start to drained, and the
 * execution of user code. A ledger is thread-safe, so that any event loop of the instance may call
 * it. A replica's handler is confined to the loop of its verticle. A slot becomes free when the
 * handler has settled, never before. Every acquired slot ends in exactly one of complete, release
 * and expiry.
 *
 * <p>Source: Ray #63252 (reserve / release of replica slots), with leases so that a dead caller
 * cannot strand a slot.
 */
@NullMarked
package dev.berth.replica;

import org.jspecify.annotations.NullMarked;
