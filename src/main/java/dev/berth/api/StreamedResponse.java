package dev.berth.api;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;

/**
 * A response whose body is read as it arrives, whatever its size: a body that came whole is a
 * stream of one piece, and an empty one of none.
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

  /** As a handle makes it, and a test's stand-in for one. */
  public static StreamedResponse of(
      int status, Headers headers, ReadStream<Buffer> body, Runnable cancel) {
    return new StreamedResponse(status, headers, body, cancel);
  }

  /** An HTTP status, 200 to 599. */
  public int status() {
    return status;
  }

  /** As the handler gave them. */
  public Headers headers() {
    return headers;
  }

  /**
   * Belongs to the context of the handle; paused until a handler is set. Read to its end, or
   * cancelled. Fails with a {@link BerthException} when it is cut short.
   */
  public ReadStream<Buffer> body() {
    return body;
  }

  /** Ends the body; its request is cancelled at the replica. */
  public Runnable cancel() {
    return cancel;
  }
}
