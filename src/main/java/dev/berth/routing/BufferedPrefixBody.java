package dev.berth.routing;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;

/**
 * A streamed request body whose first bytes are known. These bytes travel with the request, and
 * again with each retry after a refusal. The stream holds the rest, and is not read before a
 * replica has accepted the request.
 */
public interface BufferedPrefixBody extends ReadStream<Buffer> {
  /** Returns the first bytes: at most 64 KiB, possibly none. */
  Buffer first();
}
