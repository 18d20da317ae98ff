package dev.berth.admin;

import dev.berth.metrics.Meters;
import dev.berth.net.http.RefusedRequest;
import dev.berth.view.CommandRejectedException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.impl.HttpServerConnection;
import io.vertx.ext.web.RoutingContext;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.function.BiFunction;

/**
 * Reads whole bodies of admin requests, with limits of the size and time of each body and of the
 * memory of all bodies until their release. Confined to the event loop of the connections.
 */
public final class RequestBodyReader {
  /** Maximum size of a declaration in bytes. */
  private static final int MAX_DECLARED_BYTES = 4 << 20;

  private static final long MAX_DECLARED_IN_ALL = 16L << 20;

  static final long TIMEOUT_MS = 10_000;

  /** Time limit in milliseconds for reading and discarding the rest of a refused body. */
  private static final long LINGER_MS = 2_000;

  private static final long NO_ERROR = 0; // of HTTP/2

  private static final String TOO_SLOW = "body: incomplete after " + TIMEOUT_MS / 1000 + " s";

  private final int maxBytes;
  private final long maxTotalBytes;
  private volatile long totalBytes; // written by the event loop

  /**
   * @param maxBytes maximum size of a body; a larger one is refused with 413
   * @param maxTotalBytes limit of all bodies being read or not yet released; above it a body is
   *     refused with 503
   */
  public RequestBodyReader(int maxBytes, long maxTotalBytes) {
    this.maxBytes = maxBytes;
    this.maxTotalBytes = maxTotalBytes;
  }

  /** Returns a reader of declarations. */
  public static RequestBodyReader ofDeclarations() {
    return new RequestBodyReader(MAX_DECLARED_BYTES, MAX_DECLARED_IN_ALL);
  }

  /** Registers the metrics. */
  public void show(Meters meters) {
    meters.add(into -> into.gauge("berth_admin_body_bytes", totalBytes, maxTotalBytes));
  }

  /** A whole body. Its receiver must release it once. */
  record AdminRequestBody(Buffer bytes, RequestBodyReader of) {
    /**
     * Decodes the body as UTF-8. Slow for megabytes.
     *
     * @throws CommandRejectedException when the body is not UTF-8
     */
    String text() {
      try {
        return StandardCharsets.UTF_8
            .newDecoder() // reports malformed input, unlike new String
            .decode(ByteBuffer.wrap(bytes.getBytes()))
            .toString();
      } catch (CharacterCodingException none) {
        throw CommandRejectedException.invalid("body: not UTF-8 (expected: UTF-8)");
      }
    }

    void release() {
      of.totalBytes -= bytes.length();
    }
  }

  /**
   * Reads the body of a request from its start.
   *
   * @return fails with an {@link AdminRefusal} to send, which ends the connection
   */
  Future<AdminRequestBody> read(RoutingContext context) {
    return new PendingBodyRead(context).start();
  }

  /**
   * Reads a body, and releases it when the operation has completed.
   *
   * @param what operation on the bytes and the text of the body
   */
  public <T> Future<T> use(RoutingContext context, BiFunction<Buffer, String, Future<T>> what) {
    return read(context)
        .compose(
            body ->
                context
                    .vertx()
                    .executeBlocking(body::text, false)
                    .compose(text -> what.apply(body.bytes, text))
                    .onComplete(over -> body.release()));
  }

  /** Requests the body from a client that waits for {@code 100 Continue}. */
  public static void askFor(HttpServerRequest request) {
    if ("100-continue".equalsIgnoreCase(request.getHeader(HttpHeaders.EXPECT))) {
      request.response().writeContinue();
    }
  }

  /**
   * Discards the rest of the body after the response, and closes the connection at its end, or
   * soon. A connection closed with unread bytes would be reset, and the response lost. Over HTTP/2
   * the stream alone ends (RFC 9113, 8.1).
   */
  public static void readNoMore(RoutingContext context) {
    HttpServerRequest request = context.request();
    if (request.isEnded()) {
      return;
    }
    Future<Void> read = request.end();
    boolean shared = request.version() == HttpVersion.HTTP_2; // the connection has other streams
    if (!shared) {
      context.response().putHeader(HttpHeaders.CONNECTION, HttpHeaders.CLOSE);
    }
    context.addEndHandler(
        ended -> {
          if (!read.isComplete()) {
            request.handler(rest -> {}).endHandler(null).resume();
          }
          Runnable end =
              shared
                  ? () -> context.response().reset(NO_ERROR)
                  : () -> request.connection().close();
          context.vertx().setTimer(LINGER_MS, late -> end.run());
          read.onComplete(all -> end.run());
        });
  }

  /** A body being read. */
  private final class PendingBodyRead {
    private final Promise<AdminRequestBody> whole = Promise.promise();
    private final RoutingContext context;
    private final HttpServerRequest request;
    private final Buffer bytes = Buffer.buffer();
    private long timer;
    private boolean over;

    PendingBodyRead(RoutingContext context) {
      this.context = context;
      this.request = context.request();
    }

    Future<AdminRequestBody> start() {
      timer = context.vertx().setTimer(TIMEOUT_MS, late -> refuse(408, "body_too_slow", TOO_SLOW));
      request.handler(this::piece).endHandler(end -> whole()).exceptionHandler(this::broken);
      askFor(request);
      return whole.future();
    }

    private void piece(Buffer piece) {
      if (over) {
        return;
      }
      if (bytes.length() + piece.length() > maxBytes) {
        String why = "body: longer than " + maxBytes + " bytes (expected: at most as many)";
        refuse(413, "body_too_large", why);
      } else if (totalBytes + piece.length() > maxTotalBytes) {
        refuse(
            503,
            "too_many_bodies",
            "body: all in progress exceed " + maxTotalBytes + " bytes (expected: try later)");
      } else {
        totalBytes += piece.length();
        bytes.appendBuffer(piece);
      }
    }

    private void broken(Throwable failed) {
      if (failed instanceof RefusedRequest refused) {
        refuse(refused.status, "bad_request", refused.getMessage());
        // Vert.x closes the connection next.
        ((HttpServerConnection) request.connection()).channelHandlerContext().flush();
      } else {
        giveUp(new AdminRefusal(499, "cancelled", "The client left.")); // read by no client
      }
    }

    private void whole() {
      if (!over) {
        over = true;
        context.vertx().cancelTimer(timer);
        whole.complete(new AdminRequestBody(bytes, RequestBodyReader.this));
      }
    }

    private void refuse(int status, String code, String message) {
      if (!over) {
        readNoMore(context);
        giveUp(new AdminRefusal(status, code, message));
      }
    }

    private void giveUp(AdminRefusal why) {
      if (!over) {
        over = true;
        context.vertx().cancelTimer(timer);
        totalBytes -= bytes.length();
        whole.fail(why);
      }
    }
  }
}
