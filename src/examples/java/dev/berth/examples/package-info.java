/**
 * A user's project: what {@code conf/quickstart.yaml} serves. It compiles against {@link
 * dev.berth.api} alone and ships as its own jar. {@link dev.berth.examples.Quickstart} says which
 * deployments there are; each handler is a class of its own; reading what a client sent is in plain
 * classes without Vert.x beyond its buffers and JSON.
 *
 * <p>A handler object belongs to its replica's event loop, except those that extend {@link
 * dev.berth.examples.OnnxHandler}, which block and are called from several threads. That class is
 * there to be copied, with {@link dev.berth.examples.OnnxModel}, {@link dev.berth.examples.Tensor}
 * and {@link dev.berth.examples.BadInput}: it serves any ONNX model of numbers.
 */
@NullMarked
package dev.berth.examples;

import org.jspecify.annotations.NullMarked;
