/**
 * The link between a node and the controller's: one ordered stream of messages each way, dialled by
 * the node. After each connect HELLO, WELCOME, the node's inventory, and only then commands; so
 * what was lost with a link is in the inventory of the next one.
 *
 * <p>Links and what drives them belong to one event loop with nothing else on it, so that beats are
 * never behind other work. Whoever listens to them is told on the control event loop.
 */
@NullMarked
package dev.berth.cluster.control;

import org.jspecify.annotations.NullMarked;
