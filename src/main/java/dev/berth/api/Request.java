package dev.berth.api;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP-style request to a handler. Immutable, except that a streamed body can be read only once.
 * Created by {@link #get}, {@link #post} or {@link #of}.
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

  /** The body of a request, in one of three forms. */
  public sealed interface Body {
    /**
     * A body that is completely in memory. Read-only: code that modifies the bytes must copy them
     * first.
     */
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
     * A body that arrives as a stream of buffers, in order. Confined to the context of its
     * receiver, and paused until a handler is set; flow control stops the sender while the stream
     * is paused. Can be read only once. The stream fails with {@link BerthException.Cancelled} when
     * the client disconnects. An {@link AsyncHandler} that streams receives every body in this
     * form, small ones too. The handler may forward the body to another deployment.
     */
    record Streamed(ReadStream<Buffer> stream) implements Body {}

    /**
     * A body that a {@link BlockingHandler} reads on its own thread while the body arrives. {@code
     * read} blocks until bytes are available. Cancelling the request ends the wait. The body cannot
     * be forwarded to another deployment.
     */
    record Input(InputStream in) implements Body {}
  }

  /**
   * Creates a request from all its parts.
   *
   * @param method the HTTP method, upper case
   * @param path without the query; starts with {@code /}
   * @param query the raw query without {@code ?}, or null when there is none
   */
  public static Request of(
      String method, String path, @Nullable String query, Headers headers, Body body) {
    return new Request(method, path, query, headers, body);
  }

  /**
   * Creates a request as {@link #of(String, String, String, Headers, Body)} does, with a whole
   * body.
   */
  public static Request of(
      String method, String path, @Nullable String query, Headers headers, Buffer body) {
    return new Request(method, path, query, headers, new Body.Whole(body));
  }

  /**
   * Creates a GET request without headers or body.
   *
   * @param target the path, optionally with {@code ?} and a query, as in HTTP
   */
  public static Request get(String target) {
    return to(target, "GET", Buffer.buffer(0));
  }

  /**
   * Creates a POST request with a body and no headers.
   *
   * @param target the path, optionally with {@code ?} and a query, as in HTTP
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

  /** Returns the HTTP method, upper case. */
  public String method() {
    return method;
  }

  /** Returns the path as received, without the query; starts with {@code /}. */
  public String path() {
    return path;
  }

  /** Returns the raw query without {@code ?}, or null when there is none. */
  public @Nullable String query() {
    return query;
  }

  /** Returns the headers, read-only. */
  public Headers headers() {
    return headers;
  }

  /**
   * Returns the body: whole by default, streamed for a handler that {@linkplain
   * ReplicaHandler#streamsRequests() streams requests}.
   */
  public Body body() {
    return body;
  }

  /** Returns a copy of this request with another path. */
  public Request withPath(String path) {
    return new Request(method, path, query, headers, body);
  }

  /** Returns a copy of this request with another raw query, or without a query when null. */
  public Request withQuery(@Nullable String query) {
    return new Request(method, path, query, headers, body);
  }

  /** Returns a copy of this request with the given headers only. */
  public Request withHeaders(Headers headers) {
    return new Request(method, path, query, headers, body);
  }

  /** Returns a copy of this request with one more header. */
  public Request withHeader(String name, String value) {
    return withHeaders(headers.with(name, value));
  }

  /** Returns a copy of this request with another body. */
  public Request withBody(Body body) {
    return new Request(method, path, query, headers, body);
  }

  /** Returns a copy of this request with another body, which is whole. */
  public Request withBody(Buffer body) {
    return withBody(new Body.Whole(body));
  }

  /**
   * Returns the bytes of a whole body. A handler that does not stream receives every body whole.
   *
   * @throws IllegalStateException when the body is streamed
   */
  public Buffer bytes() {
    if (body instanceof Body.Whole whole) {
      return whole.bytes();
    }
    throw new IllegalStateException("body: streamed (expected: whole; read its stream)");
  }

  /**
   * Returns the body as a stream, for an {@link AsyncHandler} that streams. Set its handlers, then
   * resume it; flow control stops the sender while the stream is paused:
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
   * @throws IllegalStateException when the body is not streamed, or is an {@link #input()}
   */
  public ReadStream<Buffer> stream() {
    if (body instanceof Body.Streamed streamed) {
      return streamed.stream();
    }
    throw new IllegalStateException(
        "body: not streamed (expected: a handler whose streamsRequests() is true)");
  }

  /**
   * Returns the body as an input stream, for a {@link BlockingHandler}. When the handler streams,
   * the input stream delivers bytes as they arrive; otherwise it reads a whole body from memory.
   *
   * <pre>{@code
   * try (InputStream in = request.input()) {
   *   in.transferTo(file);
   * }
   * }</pre>
   *
   * @throws IllegalStateException when the body is a {@link Body.Streamed}, which belongs to an
   *     event loop
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
   * Returns the first value of a query parameter, percent-decoded; null when absent. A parameter
   * without {@code =} has the value {@code ""}.
   */
  public @Nullable String queryParameter(String name) {
    for (String part : query == null ? new String[0] : query.split("&")) { // stops at the first
      int equals = part.indexOf('=');
      if (decode(equals < 0 ? part : part.substring(0, equals)).equals(name)) {
        return equals < 0 ? "" : decode(part.substring(equals + 1));
      }
    }
    return null;
  }

  /** Returns the values of each query parameter by name, percent-decoded, in order. */
  public Map<String, List<String>> queryParameters() {
    Map<String, List<String>> values = new LinkedHashMap<>();
    for (String part : query == null ? new String[0] : query.split("&")) {
      int equals = part.indexOf('=');
      String name = decode(equals < 0 ? part : part.substring(0, equals));
      String value = equals < 0 ? "" : decode(part.substring(equals + 1));
      values.computeIfAbsent(name, absent -> new ArrayList<>(1)).add(value);
    }
    return values;
  }

  private static String decode(String text) {
    try {
      return java.net.URLDecoder.decode(text, java.nio.charset.StandardCharsets.UTF_8);
    } catch (IllegalArgumentException malformed) {
      return text; // browsers also keep a stray % as text
    }
  }

  /**
   * Returns the method and the path; headers, query and body are omitted because they may be
   * secrets.
   */
  @Override
  public String toString() {
    return "Request[" + method + " " + path + "]";
  }
}
