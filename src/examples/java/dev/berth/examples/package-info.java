/**
 * A user's project, served by {@code conf/quickstart.yaml}. It compiles against {@link
 * dev.berth.api} alone and ships as its own jar. {@link dev.berth.examples.Quickstart} defines the
 * deployments, and each handler is a class of its own. Plain classes parse client input; of Vert.x
 * they use only buffers and JSON.
 *
 * <p>A handler object is confined to its replica's event loop. Handlers that extend {@link
 * dev.berth.examples.OnnxHandler} block and are called from several threads instead. Copy that
 * class with {@link dev.berth.examples.OnnxModel}, {@link dev.berth.examples.Tensor} and {@link
 * dev.berth.examples.BadInput}: it serves any numeric ONNX model.
 */
@NullMarked
package dev.berth.examples;

import org.jspecify.annotations.NullMarked;
