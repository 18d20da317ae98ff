/**
 * Acquires several slots at once, all or none: in one order for all callers, each deployment behind
 * its gate, with renewals of the held slots meanwhile. Each slot is acquired as by any choose.
 */
@NullMarked
package dev.berth.routing.legs;

import org.jspecify.annotations.NullMarked;
