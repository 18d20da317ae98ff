/**
 * What crosses between router, replica and controller: immutable records, ids and their wire form,
 * and (in {@link dev.berth.protocol.port}) the ports through which the parts see one another. A
 * record is passed by identity inside an instance and in a versioned binary form between instances.
 * Nothing here decides; what alone holds state is {@link dev.berth.stream.InboundStream}, which
 * belongs to its owner's loop.
 *
 * <p>Source: design of the slot protocol after Ray #63252 (reserve / release) and #63254 (choose /
 * dispatch), with leases, attempt ids and typed refusals added.
 */
@NullMarked
package dev.berth.protocol;

import org.jspecify.annotations.NullMarked;
