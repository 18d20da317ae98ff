package dev.berth.ingress;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.api.Response;
import dev.berth.ingress.access.AccessEntry;
import dev.berth.ingress.access.Outcome;
import dev.berth.protocol.InboundStream;
import dev.berth.protocol.StreamLedger;
import dev.berth.protocol.StreamWindow;
import dev.berth.protocol.port.HttpFailure;
import dev.berth.routing.explain.RequestRecorder;
import io.netty.buffer.Unpooled;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.internal.buffer.BufferInternal;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The one answer of a request: how it is written, how far its client has taken it, and the end of
 * the request when nothing of it is here any more. What the request is, and who answers it, is its
 * {@link Exchange}'s.
 *
 * <p>It is what the response's headers are written through, and a part of its exchange, so that a
 * request costs one object here. Confined to its loop.
 */
abstract sealed class ClientAnswer implements BiConsumer<String, String>, Completable<Void>
    permits Exchange {
  /** Empty, and cannot be appended to: one serves every request without a body. */
  static final Buffer EMPTY = BufferInternal.buffer(Unpooled.EMPTY_BUFFER);

  static final CharSequence EXPECT = HttpHeaders.createOptimized("expect");
  private static final CharSequence REQUEST_ID = HttpHeaders.createOptimized("x-request-id");

  /** How long a client that is still sending may take to read its answer. */
  private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** No more than this is read of a body that nobody wants, to keep the connection. */
  static final long MAX_DISCARDED_BYTES = 1 << 20;

  final IngressLoop loop;
  final Connection connection;
  final HttpServerRequest http;
  BoundRoute route; // another one once, of a request that was parked
  final long startedNanos;
  final String requestId;
  final @Nullable AccessEntry access; // when its route is logged
  final @Nullable RequestRecorder recorder; // when it is explained
  @Nullable BodyReader reader; // until the body has ended
  @Nullable StreamRelay relay;
  private ExchangeState state = ExchangeState.READING;
  private boolean continued; // the client was told to go on with its body
  private boolean lingering; // closed soon, whatever still comes
  long endedNanos; // for a connection that keeps it until all of its answer is sent
  private int answerBytes; // of a whole answer
  private int heldBytes; // of that, counted among the instance's
  long largeBytes; // room taken for it, if it is large
  private @Nullable String notPassed; // the names of headers that are not for the client
  private @Nullable Stall stall; // while something waits for the client

  ClientAnswer(Connection connection, HttpServerRequest http, BoundRoute route) {
    this.loop = connection.loop;
    this.connection = connection;
    this.http = http;
    this.route = route;
    this.startedNanos = loop.now();
    this.requestId = loop.requestIds.idFor(http.headers().get(REQUEST_ID));
    this.access = AccessEntry.of(route.access(), http, requestId, startedNanos);
    this.recorder =
        loop.explains.recorder(loop.router, route.router(), http, requestId, startedNanos);
  }

  /** Its request is over: nothing of it is read, waited for or logged from now on. */
  abstract void over();

  /** Nobody wants what was called. */
  abstract void cancelCall();

  /** There is no answer, or no more of it. */
  public abstract void onFailure(BerthException failure);

  final void become(ExchangeState next) {
    assert loop.router.isHere();
    assert state.mayBecome(next) : state + " to " + next;
    state = next;
  }

  final boolean is(ExchangeState one) {
    return state == one;
  }

  final boolean isOver() {
    return state.ordinal() >= ExchangeState.LEAVING.ordinal();
  }

  // --- writing it ---

  final void write(Response response) {
    HttpServerResponse out = http.response();
    int status = response.status();
    Headers headers = response.headers();
    if (status != 200) {
      out.setStatusCode(status);
      if ((status == 408 || status == 409) && headers.get(HttpFailure.SHOULD_RETRY) == null) {
        out.headers().set(HttpFailure.SHOULD_RETRY, "false"); // it ran: once more is its choice
      }
    }
    notPassed = headers.get("connection");
    headers.forEach(this);
    finishHead(out);
    if (response.body() instanceof Response.Body.Whole whole) {
      largeIs(route.sizes().came(http.path(), whole.bytes().length()));
      announceUnread(out);
      finish(status, end(out, status, whole.bytes()));
    } else if (response.body() instanceof Response.Body.Received received) {
      long length = ((InboundStream) received.stream()).length();
      largeIs(route.sizes().came(http.path(), length));
      if (isBodyless(status)) {
        received.cancel().run();
        announceUnread(out);
        if (length >= 0 && http.method() == HttpMethod.HEAD) {
          out.headers().set(HttpHeaders.CONTENT_LENGTH, Long.toString(length));
        }
        finish(status, out.end());
      } else {
        become(ExchangeState.RELAYING);
        relay(received).start();
      }
    } else {
      throw new IllegalStateException("body: not yet sent (expected: whole or received)");
    }
  }

  /** What comes from a router is a stream of the bus. */
  private StreamRelay relay(Response.Body.Received received) {
    relay = new StreamRelay(this, (InboundStream) received.stream());
    return relay;
  }

  /** One header of the handler's response. */
  @Override
  public final void accept(String name, String value) {
    if (!HopByHop.isDropped(name) && !HopByHop.isNamedBy(notPassed, name)) {
      http.response().headers().add(HopByHop.nameOf(name), value);
    }
  }

  /** Takes a response that no client waits for, so that its handler can end. */
  final void discard(Response response) {
    if (response.body() instanceof Response.Body.Received received) {
      http.response().setStatusCode(response.status());
      relay(received).discard();
    } else {
      finish(response.status(), null);
    }
  }

  /** An answer of the ingress itself. */
  final void answer(int status, String contentType, Buffer body) {
    answer(status, contentType, body, mustClose());
  }

  private void answer(int status, String contentType, @Nullable Buffer body, boolean close) {
    HttpServerResponse out = http.response();
    out.setStatusCode(status);
    out.headers().set(HttpHeaders.CONTENT_TYPE, contentType);
    if (close) {
      connection.announceClose(out);
    }
    finishHead(out);
    announceUnread(out);
    finish(status, end(out, status, body));
    if (close && !connection.multiplexed) {
      connection.closeWhenTaken();
    }
  }

  /** Why the request has no response. */
  final void answer(HttpFailure failure) {
    http.response().headers().clear(); // what a response that could not be sent left behind
    answer(failure, mustClose());
  }

  final void answerAndClose(HttpFailure failure) {
    answer(failure, true);
  }

  /** To a client that is still sending, and gets time to read it. */
  final void answerAndLinger(HttpFailure failure) {
    connection.announceClose(http.response());
    linger();
    answer(failure, false);
  }

  private void answer(HttpFailure failure, boolean close) {
    if (recorder != null) {
      recorder.outcome(failure.code());
    }
    outcome(Outcome.ofCode(failure.code()));
    MultiMap headers = http.response().headers();
    failure.advise(headers::set);
    Buffer body = null; // it would wait for its window, and be kept for it
    boolean json = ErrorResponses.isJsonFor(http.headers());
    if (failure != ErrorResponses.TOO_MANY_REQUESTS || !connection.multiplexed) {
      body =
          json
              ? failure.json().put("request_id", requestId).toBuffer()
              : Buffer.buffer(failure.message());
    }
    answer(failure.status(), json ? ErrorResponses.JSON : ErrorResponses.TEXT, body, close);
  }

  private void finishHead(HttpServerResponse out) {
    out.headers().set(REQUEST_ID, requestId);
    if (recorder != null) {
      ExplainRule.tell(recorder, out.headers());
    }
    if (loop.ingress.draining()) {
      connection.announceDrain(out);
    }
  }

  private Future<Void> end(HttpServerResponse out, int status, @Nullable Buffer body) {
    if (body == null) {
      return out.end();
    }
    if (!isBodyless(status)) {
      answerBytes = body.length();
      return out.end(body);
    }
    if (http.method() == HttpMethod.HEAD && status != 204) {
      out.headers().set(HttpHeaders.CONTENT_LENGTH, Integer.toString(body.length()));
    }
    return out.end();
  }

  /** The answer is written, perhaps before the request was read. */
  void answered(Future<Void> written) {
    BodyReader rest = reader;
    connection.answered(http, written);
    if (!written.isComplete()) {
      if (answerBytes >= StreamLedger.FIRST_BYTES) {
        holdAnswer(); // of smaller ones only what the next sweep finds
      }
      written.onComplete(this);
    }
    long left = bytesLeft();
    if (left > 0 && !lingering && !connection.multiplexed) {
      if (left <= MAX_DISCARDED_BYTES) {
        connection.unread(http);
      } else {
        linger();
      }
    }
    if (rest != null) {
      rest.drop();
    }
  }

  /**
   * Returns the bytes of its body that have not come: {@link Long#MAX_VALUE} when the client did
   * not say how many, and 1 of such a body that has no reader, which the connection counts.
   */
  private long bytesLeft() {
    if (reader != null) {
      return reader.bytesLeft();
    }
    if (state != ExchangeState.READING // else it was read, or there was none
        || connection.multiplexed
        || http.isEnded()
        || connection.isUnread(http)) {
      return 0;
    }
    String declared = http.headers().get(HttpHeaders.CONTENT_LENGTH);
    return declared == null
        ? (http.headers().contains(HttpHeaders.TRANSFER_ENCODING) ? 1 : 0)
        : BodyReader.lengthOf(declared);
  }

  private boolean isBodyless(int status) {
    return http.method() == HttpMethod.HEAD || status == 204 || status == 304;
  }

  // --- to a client that has not sent all ---

  /** A client that waits to be told to go on is told so, unless its answer is out. */
  final void bodyWanted() {
    if (!continued && expectsContinue() && !isOver() && !http.response().headWritten()) {
      continued = true;
      http.response().writeContinue();
    }
  }

  /** It waits to be told to go on. */
  final boolean expectsContinue() {
    return http.headers().contains(EXPECT, "100-continue", true);
  }

  /** A client that was not told to go on may send its body or not: the next bytes mean nothing. */
  private boolean mustClose() {
    return !continued && !connection.multiplexed && expectsContinue();
  }

  /** A head that goes out before a body that nobody will read to its end says what comes of it. */
  private void announceUnread(HttpServerResponse out) {
    if (bytesLeft() > MAX_DISCARDED_BYTES) {
      connection.announceClose(out);
    }
  }

  private void linger() {
    lingering = true;
    connection.linger(loop.now() + LINGER_NANOS);
  }

  /** The end of a body that nobody wanted. */
  final void droppedAll() {
    if (lingering && !connection.multiplexed) {
      connection.closeWhenTaken();
    }
  }

  // --- how far its client is ---

  /** Looks how far its client is. */
  final void look(long now) {
    StreamRelay passing = relay;
    if (!(isOver() ? state == ExchangeState.LEAVING : passing != null && passing.awaitsClient())) {
      stall = null;
      return;
    }
    holdAnswer();
    long taken = (passing == null ? 0 : passing.takenBytes()) + connection.progress(http);
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
  final void waiting(List<Stalled<ClientAnswer>> into) {
    if (stall != null) {
      StreamWindow window = relay == null ? null : relay.window();
      long bytes = heldBytes > 0 ? heldBytes : window == null ? 0 : window.underWay();
      into.add(new Stalled<>(connection, this, Math.max(bytes, largeBytes), stall.sinceNanos()));
    }
  }

  /** Its client stands still, and others wait for what it holds. */
  final void cutStalled() {
    outcome(Outcome.STOOD_STILL);
    if (isOver()) {
      connection.cut(http);
    } else {
      cut(408);
    }
  }

  final boolean standsStill(long now, long nanos) {
    return stall == null || now - stall.sinceNanos() >= nanos;
  }

  /** What its client has not read by now is not kept for it. */
  final void sweepLeaving(long now, long idleNanos) {
    if (now - endedNanos >= idleNanos && standsStill(now, idleNanos)) {
      connection.cut(http);
    }
  }

  private void holdAnswer() {
    if (heldBytes == 0 && answerBytes > 0) {
      heldBytes = answerBytes;
      loop.router.streams().hold(heldBytes);
    }
  }

  /** Its answer takes so much; a small one and a stream nothing that is counted here. */
  final void largeIs(long bytes) {
    if (bytes != largeBytes) {
      loop.correctLarge(bytes - largeBytes);
      largeBytes = bytes;
    }
  }

  // --- ending ---

  final void streamEnded(Future<Void> written, boolean endOfConnectionIsEndOfBody) {
    boolean forClient = state != ExchangeState.DETACHED;
    finish(http.response().getStatusCode(), forClient ? written : null);
    if (endOfConnectionIsEndOfBody && forClient) {
      connection.closeWhenTaken();
    }
  }

  final void giveUp(int status) {
    if (!isOver()) {
      finish(status, null);
      cancelCall();
    }
  }

  /** The head is out, so all that is left is to end without ending the body. */
  final void cut(int status) {
    if (recorder != null) {
      recorder.outcome("cut_short"); // if nobody said why
    }
    giveUp(status);
    connection.cut(http);
  }

  /** Why there is no ordinary answer, if that is logged. */
  final void outcome(Outcome reason) {
    if (access != null && !isOver()) {
      access.outcome(reason);
    }
    if (recorder != null && reason != Outcome.ANSWERED) {
      recorder.outcome(reason.code());
    }
  }

  /**
   * The one end of every request.
   *
   * @param written completes when the socket has taken the last of its answer; null for none
   */
  final void finish(int status, @Nullable Future<Void> written) {
    if (written != null) {
      answered(written);
    }
    become(ExchangeState.LEAVING);
    over();
    if (relay != null) {
      relay.stop();
    }
    long now = loop.now();
    route.meters().answered(http.method(), status, now - startedNanos);
    if (access != null) {
      access.ended(status, http.bytesRead(), http.response().bytesWritten(), now);
    }
    connection.ended((Exchange) this, now);
    if (recorder != null) {
      recorder.end(status);
    }
    if (written == null || written.isComplete()) {
      left();
    }
  }

  /** The socket has taken the last of its answer, or never will. */
  @Override
  public final void complete(@Nullable Void taken, @Nullable Throwable failure) {
    left(); // or its end is not told yet, and then looks by itself
  }

  /** Nothing of its answer is here any more: it is no longer under way. */
  final void left() {
    if (state != ExchangeState.LEAVING) {
      return;
    }
    become(ExchangeState.LEFT);
    stall = null;
    if (heldBytes > 0) {
      loop.router.streams().release(heldBytes);
      heldBytes = 0;
    }
    largeIs(0);
    loop.meters.ended();
    connection.left((Exchange) this);
  }
}
