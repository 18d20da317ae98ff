/**
 * The threads of an instance: its event loops, how messages reach them, who watches them, and the
 * threads beside them that may wait.
 */
@NullMarked
package dev.berth.node.loops;

import org.jspecify.annotations.NullMarked;
