/** The contract test of each port, inherited by the tests of every implementation. */
@NullMarked
package dev.berth.protocol.port;

import org.jspecify.annotations.NullMarked;
