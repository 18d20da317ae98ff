/**
 * The messages between router, replica and controller: immutable records, ids, their wire form, and
 * the ports between these actors ({@link dev.berth.protocol.port}). A record is passed by identity
 * inside an instance and in a versioned binary form between instances. This package decides nothing
 * and holds no state. The state of a stream is in {@link dev.berth.stream.InboundStream}, which is
 * confined to its owner's loop.
 *
 * <p>Source: design of the slot protocol after Ray #63252 (reserve / release) and #63254 (choose /
 * dispatch), with leases, attempt ids and typed refusals added.
 */
@NullMarked
package dev.berth.protocol;

import org.jspecify.annotations.NullMarked;
