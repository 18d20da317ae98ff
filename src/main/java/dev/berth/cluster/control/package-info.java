/**
 * The control link between a node and the controller: one ordered stream of messages in each
 * direction, opened by the node. Each connection starts with HELLO, WELCOME and the node's
 * inventory; commands follow only then. The inventory of the next link therefore covers everything
 * that was lost with a link.
 *
 * <p>Links and their state are confined to a dedicated event loop, so that heartbeats never wait
 * for other work. Listeners are notified on the control event loop.
 */
@NullMarked
package dev.berth.cluster.control;

import org.jspecify.annotations.NullMarked;
