package dev.berth.api;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;

/**
 * The sending half of a streamed response. It belongs to the replica's context; a write from
 * another thread hops there. Small pieces written in one tick leave as one frame.
 */
public interface ResponseWriter {

  /**
   * Sends a piece, of any size, in order.
   *
   * @return completes when the receiver has room for the next piece. A producer that waits for it
   *     holds one piece in memory; one that does not is failed when {@code stream_buffer_bytes}
   *     (default 1 MiB) of its pieces wait. Fails with {@link BerthException.Cancelled} once the
   *     receiver has gone.
   */
  Future<Void> write(Buffer piece);

  /** {@link #write(Buffer)} of a UTF-8 text. */
  default Future<Void> write(String text) {
    return write(Buffer.buffer(text));
  }
}
