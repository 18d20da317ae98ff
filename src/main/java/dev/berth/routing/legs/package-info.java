/**
 * Several slots at once, all of them or none: in one order for all, each deployment behind its
 * gate, what is held kept alive meanwhile. Each slot is asked for as any choose asks.
 */
@NullMarked
package dev.berth.routing.legs;

import org.jspecify.annotations.NullMarked;
