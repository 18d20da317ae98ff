package dev.berth.api;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import org.jspecify.annotations.Nullable;

/**
 * One request. Immutable, but that a body which streams is read once. Made by {@link #get}, {@link
 * #post} or {@link #of}.
 */
public final class Request {
  private final String method;
  private final String path;
  private final @Nullable String query;
  private final Headers headers;
  private final Body body;

  private Request(String method, String path, @Nullable String query, Headers headers, Body body) {
    this.method = method;
    this.path = path;
    this.query = query;
    this.headers = headers;
    this.body = body;
  }

  /** How the body comes. */
  public sealed interface Body {
    /** All of it, read only: whoever wants to change it copies it first. */
    final class Whole extends WholeBody implements Body {
      /** Of bytes that nobody changes from now on. */
      public Whole(Buffer bytes) {
        super(bytes);
      }

      Whole(TypedValue value) {
        super(value);
      }
    }

    /**
     * Arriving, in order. Belongs to the context of whoever receives it, and is paused until a
     * handler is set; a stream that is not resumed holds its sender back. Read at most once. It
     * fails with {@link BerthException.Cancelled} when its client leaves. An {@link AsyncHandler}
     * that streams gets every body so, small ones too; and it may send one on to a deployment.
     */
    record Streamed(ReadStream<Buffer> stream) implements Body {}

    /**
     * Arriving, to be read on the thread of a {@link BlockingHandler}, which waits in {@code read}
     * for bytes that have not come. Cancelling the request ends the wait. Cannot be sent on.
     */
    record Input(InputStream in) implements Body {}
  }

  /**
   * A request of all its parts.
   *
   * @param method the HTTP method, upper case
   * @param path without the query; starts with {@code /}
   * @param query the raw query without {@code ?}, or null when there is none
   */
  public static Request of(
      String method, String path, @Nullable String query, Headers headers, Body body) {
    return new Request(method, path, query, headers, body);
  }

  /** As {@link #of(String, String, String, Headers, Body)}, with a body that is whole. */
  public static Request of(
      String method, String path, @Nullable String query, Headers headers, Buffer body) {
    return new Request(method, path, query, headers, new Body.Whole(body));
  }

  /**
   * A GET without headers or body.
   *
   * @param target the path, and what follows a {@code ?} is the query, as in HTTP
   */
  public static Request get(String target) {
    return to(target, "GET", Buffer.buffer(0));
  }

  /**
   * A POST with a body and no headers.
   *
   * @param target the path, and what follows a {@code ?} is the query, as in HTTP
   */
  public static Request post(String target, Buffer body) {
    return to(target, "POST", body);
  }

  private static Request to(String target, String method, Buffer body) {
    int mark = target.indexOf('?');
    String path = mark < 0 ? target : target.substring(0, mark);
    String query = mark < 0 ? null : target.substring(mark + 1);
    return of(method, path, query, Headers.empty(), body);
  }

  /** The HTTP method, upper case. */
  public String method() {
    return method;
  }

  /** The path as received, without the query; starts with {@code /}. */
  public String path() {
    return path;
  }

  /** The raw query without {@code ?}, or null when there is none. */
  public @Nullable String query() {
    return query;
  }

  /** Its headers, read only. */
  public Headers headers() {
    return headers;
  }

  /**
   * Whole, or arriving piece by piece for a handler that {@linkplain
   * ReplicaHandler#streamsRequests() asks for that}.
   */
  public Body body() {
    return body;
  }

  /** The same request at another path. */
  public Request withPath(String path) {
    return new Request(method, path, query, headers, body);
  }

  /** The same request with another raw query, or none. */
  public Request withQuery(@Nullable String query) {
    return new Request(method, path, query, headers, body);
  }

  /** The same request with these headers alone. */
  public Request withHeaders(Headers headers) {
    return new Request(method, path, query, headers, body);
  }

  /** The same request with one more header. */
  public Request withHeader(String name, String value) {
    return withHeaders(headers.with(name, value));
  }

  /** The same request with another body. */
  public Request withBody(Body body) {
    return new Request(method, path, query, headers, body);
  }

  /** The same request with a body that is whole. */
  public Request withBody(Buffer body) {
    return withBody(new Body.Whole(body));
  }

  /**
   * The body of a request that is whole, as every request is for a handler that does not stream.
   *
   * @throws IllegalStateException when the body streams
   */
  public Buffer bytes() {
    if (body instanceof Body.Whole whole) {
      return whole.bytes();
    }
    throw new IllegalStateException("body: streamed (expected: whole; read its stream)");
  }

  /**
   * The body as it arrives, for an {@link AsyncHandler} that streams. Set its handlers and resume
   * it; paused, it holds its sender back:
   *
   * <pre>{@code
   * public Future<Response> handle(Request request, RequestContext context) {
   *   Promise<Response> answer = Promise.promise();
   *   AtomicLong bytes = new AtomicLong();
   *   request.stream()
   *       .exceptionHandler(answer::fail)
   *       .endHandler(end -> answer.complete(Response.text("got " + bytes)))
   *       .handler(piece -> bytes.addAndGet(piece.length()))
   *       .resume();
   *   return answer.future();
   * }
   * }</pre>
   *
   * @throws IllegalStateException when the body does not stream, or is an {@link #input()}
   */
  public ReadStream<Buffer> stream() {
    if (body instanceof Body.Streamed streamed) {
      return streamed.stream();
    }
    throw new IllegalStateException(
        "body: not streamed (expected: a handler whose streamsRequests() is true)");
  }

  /**
   * The body for a {@link BlockingHandler}: as it arrives when the handler streams, else all of it.
   *
   * <pre>{@code
   * try (InputStream in = request.input()) {
   *   in.transferTo(file);
   * }
   * }</pre>
   *
   * @throws IllegalStateException when the body is one for an event loop
   */
  public InputStream input() {
    if (body instanceof Body.Input input) {
      return input.in();
    }
    if (body instanceof Body.Whole whole) {
      return new ByteArrayInputStream(whole.bytes().getBytes());
    }
    throw new IllegalStateException("body: streamed (expected: one of a blocking handler)");
  }

  /**
   * The first value of a query parameter, percent-decoded; null when absent. A parameter without
   * {@code =} has the value {@code ""}.
   */
  public @Nullable String queryParameter(String name) {
    if (query == null) {
      return null;
    }
    for (String part : query.split("&")) {
      int equals = part.indexOf('=');
      String key = equals < 0 ? part : part.substring(0, equals);
      if (decode(key).equals(name)) {
        return equals < 0 ? "" : decode(part.substring(equals + 1));
      }
    }
    return null;
  }

  private static String decode(String text) {
    try {
      return java.net.URLDecoder.decode(text, java.nio.charset.StandardCharsets.UTF_8);
    } catch (IllegalArgumentException malformed) {
      return text; // a stray % means itself, as browsers have it
    }
  }

  /** Without headers, query and body, which may be secrets. */
  @Override
  public String toString() {
    return "Request[" + method + " " + path + "]";
  }
}
