package dev.berth.api;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;

/**
 * A response whose body is read as a stream, regardless of its size. A whole body becomes a stream
 * of one chunk, an empty body a stream of none.
 */
public final class StreamedResponse {
  private final int status;
  private final Headers headers;
  private final ReadStream<Buffer> body;
  private final Runnable cancel;

  private StreamedResponse(int status, Headers headers, ReadStream<Buffer> body, Runnable cancel) {
    this.status = status;
    this.headers = headers;
    this.body = body;
    this.cancel = cancel;
  }

  /** Creates a response. For implementations of handles and for test doubles. */
  public static StreamedResponse of(
      int status, Headers headers, ReadStream<Buffer> body, Runnable cancel) {
    return new StreamedResponse(status, headers, body, cancel);
  }

  /** Returns the HTTP status, 200 to 599. */
  public int status() {
    return status;
  }

  /** Returns the headers that the handler set. */
  public Headers headers() {
    return headers;
  }

  /**
   * Returns the body. Confined to the context of the handle, and paused until a handler is set.
   * Must be read to its end or cancelled. Fails with a {@link BerthException} when the body is
   * aborted.
   */
  public ReadStream<Buffer> body() {
    return body;
  }

  /** Returns a callback that ends the body and cancels the request at the replica. */
  public Runnable cancel() {
    return cancel;
  }
}
