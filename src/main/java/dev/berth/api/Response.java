package dev.berth.api;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.io.OutputStream;

/**
 * One response: a status, headers, and a body that is whole, produced piece by piece, or received
 * piece by piece from another deployment (which a handler may return as its own).
 *
 * <p>Immutable, but that a body which streams is read or written once. Made by {@link #text},
 * {@link #json}, {@link #of}, {@link #stream} or {@link #output}.
 */
public final class Response {
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

  /** How the body comes. */
  public sealed interface Body {
    /** All of it, read only for the receiver. */
    final class Whole extends WholeBody implements Body {
      /** Of bytes that nobody changes from now on. */
      public Whole(Buffer bytes) {
        super(bytes);
      }

      Whole(TypedValue value) {
        super(value);
      }
    }

    /** Written by user code, with back-pressure; the request holds its slot until it is done. */
    record Produced(Producer producer) implements Body {}

    /** Written by a {@link BlockingHandler}, on its thread, which waits while no one reads. */
    record Output(BlockingProducer producer) implements Body {}

    /**
     * Arriving from a replica, on the receiver's context, paused until a handler is set. Whoever
     * receives it reads it to its end or cancels it.
     */
    record Received(ReadStream<Buffer> stream, Runnable cancel) implements Body {}
  }

  /** Writes a streamed body. */
  @FunctionalInterface
  public interface Producer {
    /**
     * Called once, on the replica's context.
     *
     * @return completes when the whole body is written; a failure resets the stream, so that the
     *     client sees a cut response and never a short one that looks whole
     */
    Future<Void> writeTo(ResponseWriter writer);
  }

  /** Writes a streamed body by blocking. */
  @FunctionalInterface
  public interface BlockingProducer {
    /**
     * Called once, after the handler has returned, on the handler's thread.
     *
     * @param out holds back its writer while the receiver has no room: it keeps at most 64 KiB. Its
     *     {@code flush} sends what it keeps. Closing it is not needed.
     * @throws Exception resets the stream, so that the client sees a cut response
     */
    void writeTo(OutputStream out) throws Exception;
  }

  /** 200 with a text body. */
  public static Response text(String text) {
    return of(200, "text/plain; charset=utf-8", Buffer.buffer(text));
  }

  /** A status with a JSON text. */
  public static Response json(int status, String json) {
    return of(status, "application/json", Buffer.buffer(json));
  }

  /**
   * A response of all its parts.
   *
   * @param status an HTTP status, 200 to 599; else {@link IllegalArgumentException}
   * @param headers without framing headers (content-length, transfer-encoding, connection), which
   *     the ingress sets
   */
  public static Response of(int status, Headers headers, Body body) {
    return new Response(status, headers, body);
  }

  /** A status with a body and its content type. */
  public static Response of(int status, String contentType, Buffer body) {
    return Response.of(status, contentType(contentType), new Body.Whole(body));
  }

  /** 200 with a body that is written piece by piece. */
  public static Response stream(String contentType, Producer producer) {
    return Response.of(200, contentType(contentType), new Body.Produced(producer));
  }

  /**
   * 200 with a body that a {@link BlockingHandler} writes after it has returned:
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
    return PairHeaders.checked(new String[] {"content-type", contentType});
  }

  /** An HTTP status, 200 to 599. */
  public int status() {
    return status;
  }

  /** Its headers, read only. */
  public Headers headers() {
    return headers;
  }

  /** Whole, being produced, or arriving. */
  public Body body() {
    return body;
  }

  /** The same response with another status. */
  public Response withStatus(int status) {
    return new Response(status, headers, body);
  }

  /** The same response with these headers alone. */
  public Response withHeaders(Headers headers) {
    return new Response(status, headers, body);
  }

  /** The same response with one more header. */
  public Response withHeader(String name, String value) {
    return withHeaders(headers.with(name, value));
  }

  /** The same response with another body. */
  public Response withBody(Body body) {
    return new Response(status, headers, body);
  }

  /**
   * The body as one buffer.
   *
   * @param maxBytes the bound on what is gathered of a received stream; beyond it the stream is
   *     cancelled and the future fails
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

  /** Without headers and body, which may be secrets. */
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

  @Override
  public String toString() {
    return "Response[" + status + "]";
  }
}
