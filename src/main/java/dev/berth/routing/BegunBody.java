package dev.berth.routing;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;

/**
 * A streamed request body of which the beginning is known. It travels with the request, and again
 * when a replica refused that; the stream is what follows it, and is not read before a replica has
 * accepted the request.
 */
public interface BegunBody extends ReadStream<Buffer> {
  /** At most 64 KiB; may be empty. */
  Buffer first();
}
