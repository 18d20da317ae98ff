package dev.berth.ingress;

import dev.berth.api.Headers;
import dev.berth.api.Response;
import dev.berth.ingress.access.Outcome;
import dev.berth.protocol.port.HttpFailure;
import dev.berth.stream.InboundStream;
import dev.berth.stream.StreamLedger;
import dev.berth.stream.StreamWindow;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The one answer of a request: writes it, and follows how far its client has taken it. The request,
 * its states and its end are its {@link Exchange}'s. Confined to its loop.
 */
final class ClientAnswer implements Completable<Void> {
  private static final CharSequence REQUEST_ID = HttpHeaders.createOptimized("x-request-id");

  /** How long a client that is still sending may take to read its answer. */
  private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final Exchange exchange;
  @Nullable StreamRelay relay;
  private @Nullable Stall stall; // while something waits for the client
  private boolean continued; // the client was told to go on with its body
  private boolean lingering; // closed soon, whatever still comes
  private boolean held; // its bytes are counted among the instance's
  private int bytes; // of a whole answer
  long largeBytes; // room taken for it, if it is large
  long endedNanos; // for a connection that keeps it until all of its answer is sent

  ClientAnswer(Exchange exchange) {
    this.exchange = exchange;
  }

  // --- writing it ---

  void send(Response response) {
    HttpServerRequest http = exchange.http;
    HttpServerResponse out = http.response();
    int status = response.status();
    Headers headers = response.headers();
    if (status != 200) {
      out.setStatusCode(status);
      if ((status == 408 || status == 409) && headers.get(HttpFailure.SHOULD_RETRY) == null) {
        out.headers().set(HttpFailure.SHOULD_RETRY, "false"); // it ran: once more is its choice
      }
    }
    exchange.loop.passed.pass(headers, out.headers());
    finishHead(out);
    if (response.body() instanceof Response.Body.Whole whole) {
      largeIs(exchange.route.sizes().came(http.path(), whole.bytes().length()));
      announceUnread(out);
      exchange.finish(status, end(out, status, whole.bytes()));
    } else if (response.body() instanceof Response.Body.Received received) {
      long length = ((InboundStream) received.stream()).length();
      largeIs(exchange.route.sizes().came(http.path(), length));
      if (isBodyless(status)) {
        received.cancel().run();
        announceUnread(out);
        if (length >= 0 && http.method() == HttpMethod.HEAD) {
          out.headers().set(HttpHeaders.CONTENT_LENGTH, Long.toString(length));
        }
        exchange.finish(status, out.end());
      } else {
        exchange.become(ExchangeState.RELAYING);
        relay(received).start();
      }
    } else {
      throw new IllegalStateException("body: not yet sent (expected: whole or received)");
    }
  }

  /** What comes from a router is a stream of the bus. */
  private StreamRelay relay(Response.Body.Received received) {
    relay = new StreamRelay(exchange, (InboundStream) received.stream());
    return relay;
  }

  /** Takes a response that no client waits for, so that its handler can end. */
  void discard(Response response) {
    if (response.body() instanceof Response.Body.Received received) {
      exchange.http.response().setStatusCode(response.status());
      relay(received).discard();
    } else {
      exchange.finish(response.status(), null);
    }
  }

  /**
   * Sends an answer of the ingress itself.
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

  /** Sends why the request has no response. */
  void send(HttpFailure failure) {
    exchange.http.response().headers().clear(); // of a response that could not be sent
    send(failure, mustClose());
  }

  void sendAndClose(HttpFailure failure) {
    send(failure, true);
  }

  /** To a client that is still sending, and gets time to read it. */
  void sendAndLinger(HttpFailure failure) {
    exchange.connection.announceClose(exchange.http.response());
    linger();
    send(failure, false);
  }

  private void send(HttpFailure failure, boolean close) {
    if (exchange.recorder != null) {
      exchange.recorder.outcome(failure.code());
    }
    exchange.outcome(Outcome.ofCode(failure.code()));
    MultiMap headers = exchange.http.response().headers();
    failure.advise(headers::set);
    Buffer body = null; // it would wait for its window, and be kept for it
    boolean json = ErrorResponses.isJsonFor(exchange.http.headers());
    if (failure != ErrorResponses.TOO_MANY_REQUESTS || !exchange.connection.multiplexed) {
      body =
          json
              ? failure.json().put("request_id", exchange.requestId).toBuffer()
              : Buffer.buffer(failure.message());
    }
    send(failure.status(), json ? ErrorResponses.JSON : ErrorResponses.TEXT, body, close);
  }

  private void finishHead(HttpServerResponse out) {
    out.headers().set(REQUEST_ID, exchange.requestId);
    if (exchange.recorder != null) {
      ExplainRule.tell(exchange.recorder, out.headers());
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

  /** It is written, perhaps before the request was read. */
  void written(Future<Void> written) {
    HttpServerRequest http = exchange.http;
    ConnectionPort connection = exchange.connection;
    BodyReader rest = exchange.reader;
    connection.answered(http, written);
    if (!written.isComplete()) {
      if (bytes >= StreamLedger.FIRST_BYTES) {
        hold(); // of smaller ones only what the next sweep finds
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

  /** The socket has taken the last of it, or never will. */
  @Override
  public void complete(@Nullable Void taken, @Nullable Throwable failure) {
    exchange.left(); // or its end is not told yet, and then looks by itself
  }

  // --- to a client that has not sent all ---

  /** A client that waits to be told to go on is told so, unless its answer is out. */
  void bodyWanted() {
    HttpServerResponse out = exchange.http.response();
    if (!continued && exchange.expectsContinue() && !exchange.isOver() && !out.headWritten()) {
      continued = true;
      out.writeContinue();
    }
  }

  /** A client that was not told to go on may send its body or not: the next bytes mean nothing. */
  private boolean mustClose() {
    return !continued && exchange.expectsContinue();
  }

  /** A head that goes out before a body that nobody will read to its end says what comes of it. */
  private void announceUnread(HttpServerResponse out) {
    if (BodyReader.bytesLeft(exchange) > BodyReader.MAX_DISCARDED_BYTES) {
      exchange.connection.announceClose(out);
    }
  }

  private void linger() {
    lingering = true;
    exchange.connection.linger(exchange.loop.now() + LINGER_NANOS);
  }

  /** The end of a body that nobody wanted. */
  void droppedAll() {
    if (lingering) {
      exchange.connection.closeWhenTaken();
    }
  }

  // --- how far its client is ---

  /** Looks how far its client is. */
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
      stall = new Stall(taken, now);
      return;
    }
    stall.look(taken, now);
    StreamWindow window = passing == null ? null : passing.window();
    if (window != null && now - stall.sinceNanos() >= Stall.AFTER_NANOS) {
      window.stalled();
    }
  }

  /** Tells what it holds, if something of it waits for its client. */
  void waiting(List<Stalled<ClientAnswer>> into) {
    if (stall != null) {
      StreamWindow window = relay == null ? null : relay.window();
      long now = held ? bytes : window == null ? 0 : window.underWay();
      into.add(
          new Stalled<>(exchange.connection, this, Math.max(now, largeBytes), stall.sinceNanos()));
    }
  }

  /** Its client stands still, and others wait for what it holds. */
  void cutStalled() {
    exchange.outcome(Outcome.STOOD_STILL);
    if (exchange.isOver()) {
      exchange.connection.cut(exchange.http);
    } else {
      exchange.cut(408);
    }
  }

  boolean standsStill(long now, long nanos) {
    return stall == null || now - stall.sinceNanos() >= nanos;
  }

  /** What its client has not read by now is not kept for it. */
  void sweepLeaving(long now, long idleNanos) {
    if (now - endedNanos >= idleNanos && standsStill(now, idleNanos)) {
      exchange.connection.cut(exchange.http);
    }
  }

  private void hold() {
    if (!held && bytes > 0) {
      held = true;
      exchange.loop.router.streams().hold(bytes);
    }
  }

  /** It takes so much; a small one and a stream nothing that is counted here. */
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

  /** Nothing more of it is passed on. */
  void stop() {
    if (relay != null) {
      relay.stop();
    }
  }

  /** Nothing of it is here any more. */
  void left() {
    stall = null;
    if (held) {
      held = false;
      exchange.loop.router.streams().release(bytes);
    }
    largeIs(0);
  }
}
