/**
 * The binary form of messages. One codec reads and writes all of them. It reads strictly, so that
 * bytes from another instance are either a message or an error.
 */
@NullMarked
package dev.berth.protocol.wire;

import org.jspecify.annotations.NullMarked;
