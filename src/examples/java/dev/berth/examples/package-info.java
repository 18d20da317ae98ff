/**
 * A user's project: what {@code conf/quickstart.yaml} serves. It compiles against {@link
 * dev.berth.api} alone and ships as its own jar. {@link dev.berth.examples.Quickstart} says which
 * deployments there are; each handler is a class of its own; reading what a client sent is in plain
 * classes without Vert.x beyond its buffers and JSON.
 *
 * <p>A handler object belongs to its replica's event loop, except {@link
 * dev.berth.examples.DigitsHandler}, which blocks and is called from several threads.
 */
@NullMarked
package dev.berth.examples;

import org.jspecify.annotations.NullMarked;
