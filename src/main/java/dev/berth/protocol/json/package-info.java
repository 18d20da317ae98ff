/**
 * The JSON form of records, by the names of their components. Used for rare messages that will gain
 * components.
 */
@NullMarked
package dev.berth.protocol.json;

import org.jspecify.annotations.NullMarked;
