/** Claims about the wire form: every message survives it, and no bytes do harm. */
@NullMarked
package dev.berth.protocol;

import org.jspecify.annotations.NullMarked;
