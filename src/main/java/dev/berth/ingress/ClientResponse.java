package dev.berth.ingress;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.api.Response;
import dev.berth.ingress.access.AccessOutcome;
import dev.berth.ingress.edge.BodyCompressor;
import dev.berth.ingress.edge.EdgeRules;
import dev.berth.metrics.RouteMeters;
import dev.berth.metrics.RouteTemplates;
import dev.berth.protocol.port.HttpErrorResponse;
import dev.berth.stream.InboundStream;
import dev.berth.stream.StreamMemoryBudget;
import dev.berth.stream.StreamWindow;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.HttpVersion;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Response of one request: writes the response and tracks how much the client has received. {@link
 * HttpExchange} owns the request, its states and its end. Confined to the event loop.
 */
final class ClientResponse implements Completable<Void> {
  private static final CharSequence REQUEST_ID = HttpHeaders.createOptimized("x-request-id");

  /** Header of OpenAI's clients, which prefer it to {@code Retry-After}. */
  private static final CharSequence RETRY_AFTER_MS = HttpHeaders.createOptimized("retry-after-ms");

  /** Nanoseconds that a client which still sends has to read its response. */
  private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** Maximum size in bytes of a response that the event loop compresses, in 2 ms at most. */
  private static final int MAX_LOOP_BYTES = 64 << 10;

  private final HttpExchange exchange;
  @Nullable StreamRelay relay;
  private @Nullable RouteMeters templated; // null for those of the whole route
  @Nullable BodyCompressor coder; // of a stream
  volatile @Nullable Buffer uncompressed; // while another thread compresses it
  List<String> accepted = List.of(); // codings, as received
  private @Nullable WriteStall stall; // while bytes wait for the client
  private boolean continued; // 100-continue was sent
  private boolean lingering; // closes soon, even if the client still sends
  private boolean held; // its bytes count in the instance's budget
  private int bytes; // of a whole response
  long largeBytes; // budget acquired for a large response
  long endedNanos; // set by a connection that keeps unsent responses

  ClientResponse(HttpExchange exchange) {
    this.exchange = exchange;
  }

  /** Returns the meters of the route, or of its template that the handler named. */
  RouteMeters meters() {
    RouteMeters own = templated;
    return own == null ? exchange.route.meters() : own;
  }

  private void countFor(String template) {
    RouteMeters own = exchange.route.templates().of(template);
    templated = own;
    if (own != null && exchange.access != null) {
      exchange.access.route(own.route());
    }
  }

  // --- writing ---

  /** Sends 103 with early hints. */
  void hint(Headers hints) {
    if (exchange.is(ExchangeState.CALLING) && exchange.http.version() != HttpVersion.HTTP_1_0) {
      MultiMap passed = MultiMap.caseInsensitiveMultiMap();
      exchange.loop.passed.pass(hints, passed);
      exchange.http.response().writeEarlyHints(passed);
    }
  }

  void send(Response response) {
    HttpServerRequest http = exchange.http;
    HttpServerResponse out = http.response();
    int status = response.status();
    Headers headers = response.headers();
    if (status != 200) {
      out.setStatusCode(status);
      if ((status == 408 || status == 409) && headers.get(HttpErrorResponse.SHOULD_RETRY) == null) {
        // the handler ran: it decides on retries
        out.headers().set(HttpErrorResponse.SHOULD_RETRY, "false");
      }
    }
    String template = headers.get(RouteTemplates.HEADER);
    if (template != null) {
      countFor(template);
    }
    exchange.loop.passed.pass(headers, out.headers());
    finishHead(out);
    if (response.body() instanceof Response.Body.Whole whole) {
      largeIs(exchange.route.sizes().recordSize(http.path(), whole.bytes().length()));
      announceUnread(out);
      Buffer body = whole.bytes();
      BodyCompressor by = compressor(status, body.length());
      if (by == null || body.length() <= MAX_LOOP_BYTES) {
        exchange.finish(status, end(out, status, by == null ? body : by.whole(body)));
      } else {
        uncompressed = body; // within the budget of large responses
        exchange
            .loop
            .scan(exchange.route.to().application(), () -> compressed(by))
            .onSuccess(compressed -> sendCompressed(status, compressed))
            .onFailure(
                why -> exchange.onFailure(new BerthException.HandlerFailed("not compressed", why)));
      }
    } else if (response.body() instanceof Response.Body.Received received) {
      InboundStream stream = (InboundStream) received.stream();
      long length = stream.declaredLength();
      largeIs(exchange.route.sizes().recordSize(http.path(), stream.length()));
      if (isBodyless(status)) {
        received.cancel().run();
        announceUnread(out);
        if (length >= 0 && http.method() == HttpMethod.HEAD) {
          out.headers().set(HttpHeaders.CONTENT_LENGTH, Long.toString(length));
        }
        exchange.finish(status, out.end());
      } else {
        exchange.become(ExchangeState.RELAYING);
        if (exchange.route.to().edge() != null && exchange.loop.ingress.compressed.tryTake(1)) {
          coder = compressor(status, length);
          if (coder == null) {
            exchange.loop.ingress.compressed.give(1);
          }
        }
        relay(received).start();
      }
    } else {
      throw new IllegalStateException("body: not yet sent (expected: whole or received)");
    }
  }

  /** Compresses a large response on another thread, unless it has ended meanwhile. */
  private Buffer compressed(BodyCompressor by) {
    Buffer body = uncompressed;
    return body == null ? BodyReader.EMPTY : by.whole(body);
  }

  private void sendCompressed(int status, Buffer body) {
    if (!exchange.isOver()) {
      boolean left = exchange.is(ExchangeState.DETACHED);
      exchange.finish(status, left ? null : end(exchange.http.response(), status, body));
    }
  }

  private @Nullable BodyCompressor compressor(int status, long length) {
    EdgeRules edge = exchange.route.to().edge();
    HttpServerRequest http = exchange.http;
    return edge == null
        ? null
        : edge.compressor(
            accepted,
            http.response().headers(),
            length,
            !isBodyless(status) && http.version() != HttpVersion.HTTP_1_0);
  }

  /** Returns the bytes to send for the next bytes of a stream. */
  Buffer coded(Buffer piece, boolean last) {
    return coder == null ? piece : coder.next(piece, last);
  }

  /** Answers a preflight without the application. */
  void sendPreflight() {
    HttpServerResponse out = exchange.http.response();
    finishHead(out);
    boolean allowed = out.headers().contains(HttpHeaders.ACCESS_CONTROL_ALLOW_ORIGIN);
    out.setStatusCode(allowed ? 204 : 403);
    announceUnread(out);
    exchange.finish(out.getStatusCode(), out.end());
  }

  /** Creates the relay. Received bodies of routed responses are always bus streams. */
  private StreamRelay relay(Response.Body.Received received) {
    relay = new StreamRelay(exchange, (InboundStream) received.stream());
    return relay;
  }

  /** Consumes a response without a client, so that its handler can end. */
  void discard(Response response) {
    if (response.body() instanceof Response.Body.Received received) {
      exchange.http.response().setStatusCode(response.status());
      relay(received).discard();
    } else {
      exchange.finish(response.status(), null);
    }
  }

  /**
   * Sends a response of the ingress itself.
   *
   * @return completes when the socket has taken it
   */
  Future<Void> send(int status, String contentType, Buffer body) {
    return send(status, contentType, body, mustClose());
  }

  private Future<Void> send(int status, String contentType, @Nullable Buffer body, boolean close) {
    HttpServerResponse out = exchange.http.response();
    out.setStatusCode(status);
    out.headers().set(HttpHeaders.CONTENT_TYPE, contentType);
    if (close) {
      exchange.connection.announceClose(out);
    }
    finishHead(out);
    announceUnread(out);
    Future<Void> written = end(out, status, body);
    exchange.finish(status, written);
    if (close) {
      exchange.connection.closeWhenTaken();
    }
    return written;
  }

  /** Sends the failure of a request that has no response. */
  void send(HttpErrorResponse failure) {
    send(failure, mustClose());
  }

  void sendAndClose(HttpErrorResponse failure) {
    send(failure, true);
  }

  /** Sends a failure to a client that still sends, and gives it time to read the failure. */
  void sendAndLinger(HttpErrorResponse failure) {
    exchange.connection.announceClose(exchange.http.response());
    linger();
    send(failure, false);
  }

  private void send(HttpErrorResponse failure, boolean close) {
    if (exchange.recorder != null) {
      exchange.recorder.outcome(failure.code());
    }
    exchange.outcome(AccessOutcome.ofCode(failure.code()));
    MultiMap headers = exchange.http.response().headers();
    failure.advise(headers::set);
    Buffer body = null; // a body would hold memory until its window opens
    Buffer own = exchange.errorBody(failure);
    boolean json = own != null || ErrorResponses.isJsonFor(exchange.http.headers());
    if (own != null && failure.retryAfterSeconds() > 0) {
      headers.set(RETRY_AFTER_MS, Integer.toString(1_000 * failure.retryAfterSeconds()));
    }
    if (failure != ErrorResponses.TOO_MANY_REQUESTS || !exchange.connection.multiplexed) {
      body =
          own != null
              ? own
              : json
                  ? failure.json().put("request_id", exchange.requestId).toBuffer()
                  : Buffer.buffer(failure.message());
    }
    send(failure.status(), json ? ErrorResponses.JSON : ErrorResponses.TEXT, body, close);
  }

  /** Ends a response amid its body, by an event that reports the failure or by an abort. */
  void breakOff(HttpErrorResponse failure) {
    HttpServerResponse out = exchange.http.response();
    boolean mayFollow =
        exchange.http.version() != HttpVersion.HTTP_1_0
            && !out.headers().contains(HttpHeaders.CONTENT_LENGTH);
    Buffer last = mayFollow ? exchange.errorEvent(failure) : null;
    if (last == null) {
      exchange.abort(failure.status());
    } else {
      bytes = last.length() + (relay == null ? 0 : relay.unsentBytes()); // no longer in a window
      exchange.finish(out.getStatusCode(), out.end(coded(last, true)));
    }
  }

  private void finishHead(HttpServerResponse out) {
    out.headers().set(REQUEST_ID, exchange.requestId);
    EdgeRules edge = exchange.route.to().edge();
    if (edge != null) {
      edge.apply(exchange.http, out.headers());
    }
    if (!exchange.loop.ingress.headers.isEmpty()) {
      EdgeRules.addMissing(exchange.loop.ingress.headers, out.headers());
    }
    if (exchange.recorder != null) {
      ExplainSampler.tell(exchange.recorder, out.headers());
    }
    if (exchange.loop.ingress.draining()) {
      exchange.connection.announceDrain(out);
    }
  }

  private Future<Void> end(HttpServerResponse out, int status, @Nullable Buffer body) {
    if (body == null) {
      return out.end();
    }
    if (!isBodyless(status)) {
      bytes = body.length();
      return out.end(body);
    }
    if (exchange.http.method() == HttpMethod.HEAD && status != 204) {
      out.headers().set(HttpHeaders.CONTENT_LENGTH, Integer.toString(body.length()));
    }
    return out.end();
  }

  private boolean isBodyless(int status) {
    return exchange.http.method() == HttpMethod.HEAD || status == 204 || status == 304;
  }

  /** Follows a written response, perhaps before the request was read. */
  void written(Future<Void> written) {
    HttpServerRequest http = exchange.http;
    ConnectionPort connection = exchange.connection;
    BodyReader rest = exchange.reader;
    connection.onResponseWritten(http, written);
    if (!written.isComplete()) {
      if (bytes >= StreamMemoryBudget.FIRST_BYTES) {
        hold(); // smaller responses only if the next sweep finds them
      }
      written.onComplete(this);
    }
    long left = BodyReader.bytesLeft(exchange);
    if (left > 0 && !lingering) {
      if (left <= BodyReader.MAX_DISCARDED_BYTES) {
        connection.unread(http);
      } else {
        linger();
      }
    }
    if (rest != null) {
      rest.drop();
    }
  }

  /** Called when the socket has taken the last byte, or never will. */
  @Override
  public void complete(@Nullable Void taken, @Nullable Throwable failure) {
    exchange.onResponseLeft(); // no effect before finish(), which checks the future itself
  }

  // --- clients that still send ---

  /** Returns whether the client waits for 100-continue. */
  boolean expectsContinue() {
    return exchange.http.headers().contains(HttpExchange.EXPECT, "100-continue", true);
  }

  /** Sends 100-continue to a client that waits for it, unless the response is already sent. */
  void bodyWanted() {
    HttpServerResponse out = exchange.http.response();
    if (!continued && expectsContinue() && !exchange.isOver() && !out.headWritten()) {
      continued = true;
      out.writeContinue();
    }
  }

  /**
   * Returns whether the connection must close. Without 100-continue, a client may send its body or
   * not, so the meaning of the next bytes is unknown.
   */
  private boolean mustClose() {
    return !continued && expectsContinue();
  }

  /** Announces the close of the connection, if the rest of the body will not be read. */
  private void announceUnread(HttpServerResponse out) {
    if (BodyReader.bytesLeft(exchange) > BodyReader.MAX_DISCARDED_BYTES) {
      exchange.connection.announceClose(out);
    }
  }

  private void linger() {
    lingering = true;
    exchange.connection.linger(exchange.loop.now() + LINGER_NANOS);
  }

  /** Handles the end of an unwanted body. */
  void droppedAll() {
    if (lingering) {
      exchange.connection.closeWhenTaken();
    }
  }

  // --- progress of the client ---

  /** Updates the stall state in each sweep. */
  void look(long now) {
    StreamRelay passing = relay;
    if (exchange.isOver()
        ? !exchange.is(ExchangeState.LEAVING)
        : passing == null || !passing.awaitsClient()) {
      stall = null;
      return;
    }
    hold();
    long taken =
        (passing == null ? 0 : passing.takenBytes()) + exchange.connection.progress(exchange.http);
    if (stall == null) {
      stall = new WriteStall(taken, now);
      return;
    }
    stall.look(taken, now);
    StreamWindow window = passing == null ? null : passing.window();
    if (window != null && now - stall.sinceNanos() >= WriteStall.AFTER_NANOS) {
      window.stalled();
    }
  }

  /** Adds this response to the list, if a part of it waits for the client. */
  void waiting(List<EvictableResponse<ClientResponse>> into) {
    if (stall != null) {
      StreamWindow window = relay == null ? null : relay.window();
      long now = held ? bytes : window == null ? 0 : window.underWay();
      into.add(
          new EvictableResponse<>(
              exchange.connection, this, Math.max(now, largeBytes), stall.sinceNanos()));
    }
  }

  /** Evicts a stalled response whose memory is needed by waiting requests or streams. */
  void cutStalled() {
    exchange.outcome(AccessOutcome.STOOD_STILL);
    if (exchange.isOver()) {
      exchange.connection.abort(exchange.http);
    } else {
      exchange.abort(408);
    }
  }

  boolean standsStill(long now, long nanos) {
    return stall == null || now - stall.sinceNanos() >= nanos;
  }

  /** Aborts an ended response that its client has not read within the timeout. */
  void sweepLeaving(long now, long idleNanos) {
    if (now - endedNanos >= idleNanos && standsStill(now, idleNanos)) {
      exchange.connection.abort(exchange.http);
    }
  }

  private void hold() {
    if (!held && bytes > 0) {
      held = true;
      exchange.loop.router.streams.hold(bytes);
    }
  }

  /** Sets the bytes of the large-response budget. Small responses and streams use 0. */
  private void largeIs(long now) {
    if (now != largeBytes) {
      exchange.loop.correctLarge(now - largeBytes);
      largeBytes = now;
    }
  }

  // --- ending ---

  void streamEnded(Future<Void> written, boolean endOfConnectionIsEndOfBody) {
    boolean forClient = !exchange.is(ExchangeState.DETACHED);
    exchange.finish(exchange.http.response().getStatusCode(), forClient ? written : null);
    if (endOfConnectionIsEndOfBody && forClient) {
      exchange.connection.closeWhenTaken();
    }
  }

  /** Stops the relay and the compression. */
  void stop() {
    if (uncompressed != null) {
      uncompressed = null; // its task may wait for a thread much longer
    }
    if (relay != null) {
      relay.stop();
    }
    if (coder != null) {
      coder.close();
      coder = null;
      exchange.loop.ingress.compressed.give(1);
    }
  }

  /** Releases all memory of the response, which has left the instance. */
  void releaseMemory() {
    stall = null;
    if (held) {
      held = false;
      exchange.loop.router.streams.release(bytes);
    }
    largeIs(0);
  }
}
