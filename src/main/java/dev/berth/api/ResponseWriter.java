package dev.berth.api;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;

/**
 * The writing end of a streamed response. Confined to the replica's context; a write from another
 * thread is dispatched there. Small chunks written in one tick are coalesced into one frame, and a
 * body that ends in the tick of its first chunk is sent whole, with its length.
 */
public interface ResponseWriter {

  /**
   * Sends a chunk of any size, in order.
   *
   * @param piece the chunk, passed on without a copy: do not change it after this call, even when
   *     the future has completed
   * @return completes when the chunk is accepted: it was sent, or the receiver has room for it and
   *     it is sent at the end of this tick. Writes of one tick may return the same future. A
   *     producer that fails after this does not take the chunk back. A producer that awaits this
   *     future holds one chunk in memory. A producer that does not await it fails when more than
   *     {@code stream_buffer_bytes} (default 1 MiB) of its chunks are unsent. Fails with {@link
   *     BerthException.Cancelled} once the receiver has left.
   */
  Future<Void> write(Buffer piece);

  /** Sends a text as UTF-8, as {@link #write(Buffer)} does. */
  default Future<Void> write(String text) {
    return write(Buffer.buffer(text));
  }
}
