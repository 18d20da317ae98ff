package dev.berth.api;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.io.OutputStream;
import java.util.Map;

/**
 * An HTTP-style response: a status, headers and a body. The body is whole, produced in chunks, or
 * received in chunks from another deployment. A handler may return a received response as its own.
 *
 * <p>Immutable, except that a streamed body can be read or written only once. Created by {@link
 * #text}, {@link #json}, {@link #of}, {@link #stream} or {@link #output}.
 */
public final class Response {
  /** Checked headers of common content types, which most responses share. */
  private static final Map<String, Headers> CONTENT_TYPES =
      Map.of(
          "text/plain", checked("text/plain"),
          "text/plain; charset=utf-8", checked("text/plain; charset=utf-8"),
          "text/html; charset=utf-8", checked("text/html; charset=utf-8"),
          "text/event-stream", checked("text/event-stream"),
          "application/json", checked("application/json"),
          "application/octet-stream", checked("application/octet-stream"));

  private final int status;
  private final Headers headers;
  private final Body body;

  private Response(int status, Headers headers, Body body) {
    if (status < 200 || status > 599) {
      throw new IllegalArgumentException("status: " + status + " (expected: 200 to 599)");
    }
    this.status = status;
    this.headers = headers;
    this.body = body;
  }

  /** The body of a response, in one of four forms. */
  public sealed interface Body {
    /** A body that is completely in memory; read-only for its receiver. */
    final class Whole extends WholeBody implements Body {
      /** Creates a body from bytes that must not change afterwards. */
      public Whole(Buffer bytes) {
        super(bytes);
      }

      Whole(TypedValue value) {
        super(value);
      }
    }

    /**
     * A body that user code writes, with flow control. The request holds its slot until the body is
     * complete.
     */
    record Produced(Producer producer) implements Body {}

    /**
     * A body that a {@link BlockingHandler} writes on its own thread. A write blocks while the
     * receiver does not read.
     */
    record Output(BlockingProducer producer) implements Body {}

    /**
     * A body that arrives from a replica on the receiver's context, paused until a handler is set.
     * The receiver must read the stream to its end or run {@code cancel}.
     */
    record Received(ReadStream<Buffer> stream, Runnable cancel) implements Body {}
  }

  /** Callback that writes a streamed body. */
  @FunctionalInterface
  public interface Producer {
    /**
     * Writes the body. Called once, on the replica's context.
     *
     * @return completes when the whole body is written. A failure resets the stream, so that the
     *     client detects a truncated response instead of a short one that looks complete.
     */
    Future<Void> writeTo(ResponseWriter writer);
  }

  /** Callback that writes a streamed body and may block. */
  @FunctionalInterface
  public interface BlockingProducer {
    /**
     * Writes the body. Called once, on the handler's thread, after the handler has returned.
     *
     * @param out buffers at most 64 KiB and blocks its writer until the receiver accepts further
     *     bytes. {@code flush} sends the buffered bytes. Closing the stream is not needed.
     * @throws Exception resets the stream, so that the client detects a truncated response
     */
    void writeTo(OutputStream out) throws Exception;
  }

  /** Creates a response with status 200 and a text body. */
  public static Response text(String text) {
    return of(200, "text/plain; charset=utf-8", Buffer.buffer(text));
  }

  /** Creates a response with a JSON body. */
  public static Response json(int status, String json) {
    return of(status, "application/json", Buffer.buffer(json));
  }

  /**
   * Creates a response from all its parts.
   *
   * @param status an HTTP status, 200 to 599; else {@link IllegalArgumentException}
   * @param headers without framing headers (content-length, transfer-encoding, connection), which
   *     the ingress sets
   */
  public static Response of(int status, Headers headers, Body body) {
    return new Response(status, headers, body);
  }

  /** Creates a response with a whole body and a content type. */
  public static Response of(int status, String contentType, Buffer body) {
    return Response.of(status, contentType(contentType), new Body.Whole(body));
  }

  /** Creates a response with status 200 and a body that {@code producer} writes in chunks. */
  public static Response stream(String contentType, Producer producer) {
    return Response.of(200, contentType(contentType), new Body.Produced(producer));
  }

  /**
   * Creates a response with status 200 and a body that a {@link BlockingHandler} writes after it
   * has returned:
   *
   * <pre>{@code
   * return Response.output("text/csv", out -> {
   *   for (Row row : rows) {
   *     out.write(row.toCsv().getBytes(UTF_8));
   *   }
   * });
   * }</pre>
   */
  public static Response output(String contentType, BlockingProducer producer) {
    return Response.of(200, contentType(contentType), new Body.Output(producer));
  }

  private static Headers contentType(String contentType) {
    Headers common = CONTENT_TYPES.get(contentType);
    return common == null ? checked(contentType) : common;
  }

  private static Headers checked(String contentType) {
    return PairHeaders.checked(new String[] {"content-type", contentType});
  }

  /** Returns the HTTP status, 200 to 599. */
  public int status() {
    return status;
  }

  /** Returns the headers, read-only. */
  public Headers headers() {
    return headers;
  }

  /** Returns the body. */
  public Body body() {
    return body;
  }

  /** Returns a copy of this response with another status. */
  public Response withStatus(int status) {
    return new Response(status, headers, body);
  }

  /** Returns a copy of this response with the given headers only. */
  public Response withHeaders(Headers headers) {
    return new Response(status, headers, body);
  }

  /** Returns a copy of this response with one more header. */
  public Response withHeader(String name, String value) {
    return withHeaders(headers.with(name, value));
  }

  /** Returns a copy of this response with another body. */
  public Response withBody(Body body) {
    return new Response(status, headers, body);
  }

  /**
   * Returns the body as one buffer. Fails for a body that is produced and not yet sent.
   *
   * @param maxBytes the limit for a received stream; beyond this limit the stream is cancelled and
   *     the future fails
   */
  public Future<Buffer> bytes(int maxBytes) {
    if (body instanceof Body.Whole whole) {
      return Future.succeededFuture(whole.bytes());
    }
    if (body instanceof Body.Received received) {
      return gather(received, maxBytes);
    }
    return Future.failedFuture(
        new IllegalStateException("body: not yet sent (expected: a received response)"));
  }

  private static Future<Buffer> gather(Body.Received received, int maxBytes) {
    Promise<Buffer> done = Promise.promise();
    Buffer gathered = Buffer.buffer();
    received.stream().exceptionHandler(done::tryFail);
    received.stream().endHandler(end -> done.tryComplete(gathered));
    received.stream()
        .handler(
            piece -> {
              if (gathered.length() + piece.length() <= maxBytes) {
                gathered.appendBuffer(piece);
              } else if (done.tryFail(
                  new IllegalStateException(
                      "body: over " + maxBytes + " bytes (expected: at most maxBytes)"))) {
                received.cancel().run();
              }
            });
    received.stream().resume();
    return done.future();
  }

  /** Returns the status; headers and body are omitted because they may be secrets. */
  @Override
  public String toString() {
    return "Response[" + status + "]";
  }
}
