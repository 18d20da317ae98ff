/**
 * Messages as bytes: one codec for all of them, strict in what it reads, so that what another
 * instance sends is either a message or an error.
 */
@NullMarked
package dev.berth.protocol.wire;

import org.jspecify.annotations.NullMarked;
