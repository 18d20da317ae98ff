/**
 * The threads of an instance: its event loops with their mailboxes and watches, and the threads for
 * blocking work.
 */
@NullMarked
package dev.berth.node.loops;

import org.jspecify.annotations.NullMarked;
