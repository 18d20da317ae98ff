package dev.berth.ingress;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.ingress.access.AccessEntry;
import dev.berth.ingress.access.Outcome;
import dev.berth.protocol.InboundStream;
import dev.berth.protocol.StreamLedger;
import dev.berth.protocol.StreamWindow;
import dev.berth.protocol.port.HttpFailure;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.routing.CallOwner;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RoutedCall;
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
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request and its one answer.
 *
 * <pre>
 *   READING --body whole, or begun--> CALLING --response--> answered
 *                                             --streamed response--> RELAYING --end--> answered
 *   any --failure--> answered with its status, or cut short once the head is out
 *   any --client gone--> given up: the call is cancelled, 499 is counted
 * </pre>
 *
 * It is what the router tells of the answer and what the response's headers are written through, so
 * that a request costs one object here. Confined to its loop.
 *
 * <p>Source: Ray Serve's proxy. The handler sees the full path, as there; Ray's {@code root_path}
 * has no counterpart in {@link Request}.
 */
sealed class Exchange implements CallOwner, BiConsumer<String, String>, Completable<Void>
    permits ApiExchange {
  private static final Logger LOG = LoggerFactory.getLogger(Exchange.class);

  /** Empty, and cannot be appended to: one serves every request without a body. */
  static final Buffer EMPTY = BufferInternal.buffer(Unpooled.EMPTY_BUFFER);

  private static final CharSequence REQUEST_ID = HttpHeaders.createOptimized("x-request-id");
  private static final CharSequence SESSION_ID = HttpHeaders.createOptimized("x-session-id");
  private static final CharSequence REQUEST_TIMEOUT =
      HttpHeaders.createOptimized("x-request-timeout-seconds");
  private static final CharSequence DISCONNECT_DISABLED =
      HttpHeaders.createOptimized("x-request-disconnect-disabled");

  /** No more than this is read of a body that nobody wants, to keep the connection. */
  private static final long MAX_DISCARDED_BYTES = 1 << 20;

  /** How long a client that is still sending may take to read its answer. */
  private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(2);

  private static final long NO_DEADLINE = Long.MAX_VALUE;

  private final IngressLoop loop;
  private final Connection connection;
  private final HttpServerRequest http;
  private final BoundRoute route;
  private final long startedNanos;
  private final String requestId;
  private final long timeoutNanos;
  private final @Nullable AccessEntry access; // when its route is logged
  private final @Nullable RequestRecorder recorder; // when it is explained
  private @Nullable BodyReader reader; // until the body has ended
  private @Nullable RoutedCall call;
  private @Nullable StreamRelay relay;
  private int room; // taken of its connection's, bytes
  private boolean continued; // the client was told to go on with its body
  private boolean lingering; // closed soon, whatever still comes
  private boolean detached; // the client has gone and wanted the request to go on
  private boolean ended;
  private long endedNanos;
  private boolean leaving; // answered, and not all of it is taken yet
  private boolean left; // nothing of it is here any more
  private int answerBytes; // of a whole answer
  private boolean held; // that is counted among the instance's
  private long largeBytes; // room taken for it, if it is large
  private @Nullable Request waiting; // while it waits for that
  private boolean refused; // before anything ran
  private @Nullable Stall stall; // while something waits for the client

  Exchange(
      IngressLoop loop,
      Connection connection,
      HttpServerRequest http,
      BoundRoute route,
      long startedNanos) {
    this.loop = loop;
    this.connection = connection;
    this.http = http;
    this.route = route;
    this.startedNanos = startedNanos;
    MultiMap headers = http.headers();
    this.requestId = loop.requestIds().idFor(headers.get(REQUEST_ID));
    this.timeoutNanos =
        RequestTimeout.nanos(headers.get(REQUEST_TIMEOUT), loop.limits().requestTimeoutNanos());
    this.access = AccessEntry.of(route.access(), http, requestId, startedNanos);
    this.recorder =
        loop.explains().recorder(loop.router(), route.router(), http, requestId, startedNanos);
  }

  // --- the request ---

  /** Starts it if the requests under way leave room for one more; else it is refused. */
  final void startIfRoom() {
    int headers = loop.headers().of(http.headers());
    if (tryTakeRoom(RequestRoom.REQUEST_BYTES + headers * RequestRoom.HEADER_BYTES)) {
      start();
    }
  }

  /** Whether it may take more memory; if not it is answered. */
  boolean tryTakeRoom(int bytes) {
    if (connection.tryTakeRoom(bytes)) {
      room += bytes;
      return true;
    }
    refuse();
    return false;
  }

  private void refuse() {
    refused = true;
    answer(ErrorResponses.tooManyRequests());
  }

  /** Nothing of it is here any more: its connection's word. */
  final void giveRoom() {
    connection.giveRoom(room);
    room = 0;
  }

  /** Reads the body, if there is one, and calls. */
  void start() {
    MultiMap headers = http.headers();
    String declared = headers.get(HttpHeaders.CONTENT_LENGTH);
    if (declared == null
        && !connection.multiplexed() // HTTP/2 tells the end of a body and not its presence
        && !headers.contains(HttpHeaders.TRANSFER_ENCODING)) {
      call(new Request.Body.Whole(EMPTY), startedNanos); // no time has passed since
      return;
    }
    if (Expectation.isAnythingElse(headers)) {
      answerAndClose(ErrorResponses.expectationFailed());
      return;
    }
    long length = declared == null ? -1 : BodyReader.lengthOf(declared);
    if (length == 0) {
      bodyRead(EMPTY);
    } else if (length > loop.limits().maxBodyBytes()) {
      declaredTooLarge(length);
    } else {
      BodyReader body = new BodyReader(this, http, length, loop.limits().maxBodyBytes());
      reader = body;
      if (recorder != null) {
        recorder.receiving();
      }
      if (!expectsContinue()) {
        body.start();
      } else if (length >= 0 && length <= BodyReader.MAX_INLINE_BYTES) {
        bodyWanted();
        body.start();
      } else {
        body.startWithNothing();
      }
    }
  }

  /** A client that waits to be told to go on is told so, unless its answer is out. */
  void bodyWanted() {
    if (!continued && expectsContinue() && !ended && !http.response().headWritten()) {
      continued = true;
      http.response().writeContinue();
    }
  }

  private void declaredTooLarge(long length) {
    if (connection.multiplexed()
        || (!expectsContinue() && length - loop.limits().maxBodyBytes() <= MAX_DISCARDED_BYTES)) {
      answer(ErrorResponses.bodyTooLarge(loop.limits().maxBodyBytes()));
      connection.unread(http);
    } else {
      http.endHandler(end -> connection.closeWhenTaken());
      bodyTooLarge();
    }
  }

  /** More came, or is announced, than may. Whoever still sends gets time to read the answer. */
  void bodyTooLarge() {
    if (ended) {
      return;
    }
    if (http.response().headWritten()) {
      cut(413);
      return;
    }
    RoutedCall underWay = call;
    connection.announceClose(http.response());
    lingering = true;
    connection.linger(loop.now() + LINGER_NANOS);
    write(ErrorResponses.bodyTooLarge(loop.limits().maxBodyBytes()));
    if (underWay != null) {
      underWay.cancel();
    }
  }

  /** The end of a body that nobody wanted. */
  void droppedAll() {
    if (lingering && !connection.multiplexed()) {
      connection.closeWhenTaken();
    }
  }

  /** The whole body is here. */
  void bodyRead(Buffer body) {
    reader = null;
    call(new Request.Body.Whole(body), loop.now());
  }

  /** The body has begun, and goes on when a replica has accepted the request. */
  void bodyBegun(BodyReader body) {
    call(new Request.Body.Streamed(body), loop.now());
  }

  /** The last of a body that went on has come. */
  void bodyEnded() {
    reader = null;
  }

  void call(Request.Body body, long nowNanos) {
    if (ended) {
      return;
    }
    Request request =
        Request.of(
            http.method().name(),
            http.path(),
            http.query(),
            new ReceivedHeaders(http.headers()),
            body);
    if (access != null) {
      access.called(nowNanos);
    }
    if (recorder != null) {
      recorder.received();
    }
    long large = loop.answers().take(this, route.sizes(), http.path(), nowNanos);
    if (large < 0) {
      waiting = request;
    } else {
      largeBytes = large;
      run(request, nowNanos);
    }
  }

  /**
   * Room for its answer is there, and its; or there was none for too long.
   *
   * @param bytes negative for none
   */
  final void roomFound(long bytes) {
    Request request = Objects.requireNonNull(waiting); // or it would have been forgotten
    waiting = null;
    if (bytes < 0) {
      loop.countRefusal();
      refuse();
    } else {
      largeBytes = bytes;
      run(request, loop.now());
    }
  }

  /** Its answer takes so much; a small one and a stream nothing that is counted here. */
  private void largeIs(long bytes) {
    if (bytes != largeBytes) {
      loop.correctLarge(bytes - largeBytes);
      largeBytes = bytes;
    }
  }

  private void run(Request request, long nowNanos) {
    DeploymentRouter router = Objects.requireNonNull(route.router()); // a route that is no door
    try {
      String token = ReservationHeader.take(http.headers());
      call =
          token == null
              ? router.call(loop.router(), request, this, nowNanos)
              : loop.reservations().use(token, router, loop.router(), request, this);
    } catch (ReservationException refused) {
      answer(HttpFailure.of(refused.problem()));
    } catch (RuntimeException broken) {
      LOG.error("request {} could not be routed", requestId, broken);
      onFailure(new BerthException.HandlerFailed("not routed", broken));
    }
  }

  @Override
  public String requestId() {
    return requestId;
  }

  @Override
  public String sessionId() {
    String sessionId = http.headers().get(SESSION_ID);
    return sessionId == null ? "" : sessionId;
  }

  @Override
  public long arrivedNanos() {
    return startedNanos;
  }

  @Override
  public long deadlineNanos() {
    return timeoutNanos < 0 ? NO_DEADLINE : startedNanos + timeoutNanos;
  }

  // --- its answer ---

  @Override
  public @Nullable RequestRecorder explaining() {
    return recorder;
  }

  @Override
  public void onRouted(String replicaId) {
    if (access != null) {
      access.routed(replicaId, loop.now());
    }
  }

  @Override
  public void onResponse(Response response, String replicaId) {
    if (ended) {
      StreamRelay.cancel(response);
      return;
    }
    if (detached) {
      discard(response);
      return;
    }
    try {
      write(response);
    } catch (RuntimeException unsendable) {
      // A header that HTTP cannot carry, say: the handler's failure, not the client's.
      LOG.warn("request {}: its response cannot be sent: {}", requestId, unsendable.toString());
      StreamRelay.cancel(response);
      onFailure(new BerthException.HandlerFailed("unsendable response", unsendable));
    }
  }

  @Override
  public void onFailure(BerthException failure) {
    if (!ended) {
      outcome(Outcome.of(failure.kind()));
      if (detached) {
        finish(ErrorResponses.status(failure, route.backpressure()));
      } else if (http.response().headWritten()) {
        cut(ErrorResponses.status(failure, route.backpressure()));
      } else {
        answer(ErrorResponses.of(call, failure, requestId, timeoutNanos, route.backpressure()));
      }
    }
  }

  private void write(Response response) {
    HttpServerResponse out = http.response();
    int status = response.status();
    if (status != 200) {
      out.setStatusCode(status);
    }
    Headers headers = response.headers();
    String named = headers.get("connection");
    headers.forEach(named == null ? this : new PassedHeaders(named, out.headers()));
    finishHead(out);
    if (response.body() instanceof Response.Body.Whole whole) {
      largeIs(route.sizes().came(http.path(), whole.bytes().length()));
      announceUnread(out);
      end(out, status, whole.bytes());
      finish(status);
    } else if (response.body() instanceof Response.Body.Received received) {
      long length = ((InboundStream) received.stream()).length();
      largeIs(route.sizes().came(http.path(), length));
      if (isBodyless(status)) {
        received.cancel().run();
        announceUnread(out);
        if (length >= 0 && http.method() == HttpMethod.HEAD) {
          out.headers().set(HttpHeaders.CONTENT_LENGTH, Long.toString(length));
        }
        answered(out.end());
        finish(status);
      } else {
        StreamRelay passing = relay(received);
        relay = passing;
        passing.start();
      }
    } else {
      throw new IllegalStateException("body: not yet sent (expected: whole or received)");
    }
  }

  /** What comes from a router is a stream of the bus. */
  private StreamRelay relay(Response.Body.Received received) {
    return new StreamRelay(
        this, http.response(), (InboundStream) received.stream(), http.version());
  }

  /** One header of the handler's response. */
  @Override
  public void accept(String name, String value) {
    if (!HopByHop.isDropped(name)) {
      http.response().headers().add(PassedHeaders.nameOf(name), value);
    }
  }

  /** An answer of the ingress itself. */
  void answer(int status, String contentType, Buffer body) {
    HttpServerResponse out = http.response();
    out.setStatusCode(status);
    out.headers().set(HttpHeaders.CONTENT_TYPE, contentType);
    boolean close = mustClose();
    if (close) {
      connection.announceClose(out);
    }
    finishHead(out);
    end(out, status, body);
    if (close) {
      connection.closeWhenTaken();
    }
    finish(status);
  }

  /** Why the request has no response. */
  void answer(HttpFailure error) {
    http.response().headers().clear(); // what a response that could not be sent left behind
    boolean close = mustClose();
    if (close) {
      connection.announceClose(http.response());
    }
    write(error);
    if (close) {
      connection.closeWhenTaken();
    }
  }

  void answerAndClose(HttpFailure error) {
    connection.announceClose(http.response());
    write(error);
    if (!connection.multiplexed()) {
      connection.closeWhenTaken();
    }
  }

  private void write(HttpFailure error) {
    if (recorder != null) {
      recorder.outcome(error.code());
    }
    outcome(Outcome.ofCode(error.code()));
    HttpServerResponse out = http.response();
    out.setStatusCode(error.status());
    boolean json = ErrorResponses.isJsonFor(http.headers());
    MultiMap headers = out.headers();
    headers.set(HttpHeaders.CONTENT_TYPE, json ? ErrorResponses.JSON : ErrorResponses.TEXT);
    if (error.retryAfterSeconds() > 0) {
      headers.set(HttpHeaders.RETRY_AFTER, Integer.toString(error.retryAfterSeconds()));
    }
    finishHead(out);
    announceUnread(out);
    Buffer body =
        json
            ? error.json().put("request_id", requestId).toBuffer()
            : Buffer.buffer(error.message());
    end(out, error.status(), body);
    finish(error.status());
  }

  private void finishHead(HttpServerResponse out) {
    out.headers().set(REQUEST_ID, requestId);
    if (recorder != null) {
      ExplainRule.tell(recorder, out.headers());
    }
    if (loop.draining()) {
      connection.announceDrain(out);
    }
  }

  private void end(HttpServerResponse out, int status, Buffer body) {
    // A refusal has no body where it would wait for its client's window, and be kept for it.
    if (!isBodyless(status) && !(refused && connection.multiplexed())) {
      answerBytes = body.length();
      answered(out.end(body));
      return;
    }
    if (http.method() == HttpMethod.HEAD && status != 204) {
      out.headers().set(HttpHeaders.CONTENT_LENGTH, Integer.toString(body.length()));
    }
    answered(out.end());
  }

  /** The answer is written, perhaps before the request was read. */
  void answered(Future<Void> isWritten) {
    BodyReader rest = reader;
    connection.answered(http, isWritten);
    if (!isWritten.isComplete()) {
      leaving = true;
      if (answerBytes >= StreamLedger.FIRST_BYTES) {
        holdAnswer(); // of smaller ones only what the next sweep finds
      }
      isWritten.onComplete(this);
    }
    if (rest == null) {
      return;
    }
    if (!lingering && !connection.multiplexed()) {
      if (rest.bytesLeft() <= MAX_DISCARDED_BYTES) {
        connection.unread(http);
      } else {
        lingering = true;
        connection.linger(loop.now() + LINGER_NANOS);
      }
    }
    rest.drop();
  }

  /** A head that goes out before a body that nobody will read to its end says what comes of it. */
  private void announceUnread(HttpServerResponse out) {
    BodyReader rest = reader;
    if (rest != null && rest.bytesLeft() > MAX_DISCARDED_BYTES) {
      connection.announceClose(out);
    }
  }

  private boolean isBodyless(int status) {
    return http.method() == HttpMethod.HEAD || status == 204 || status == 304;
  }

  private boolean expectsContinue() {
    return Expectation.isContinue(http.headers());
  }

  /** A client that was not told to go on may send its body or not: the next bytes mean nothing. */
  private boolean mustClose() {
    return !continued && !connection.multiplexed() && expectsContinue();
  }

  // --- streams ---

  void streamEnded(Future<Void> written, boolean endOfConnectionIsEndOfBody) {
    if (!detached) {
      answered(written);
    }
    finish(http.response().getStatusCode());
    if (endOfConnectionIsEndOfBody && !detached) {
      connection.closeWhenTaken();
    }
  }

  void streamFailed(BerthException failure) {
    onFailure(failure);
  }

  // --- ending ---

  /**
   * The client is not there any more. The slot is freed when the handler has settled. A request
   * that asked for it goes on without its client, once it is whole.
   */
  void clientGone() {
    if (!ended
        && call != null
        && reader == null
        && "?1".equals(http.headers().get(DISCONNECT_DISABLED))) {
      detached = true;
      StreamRelay passing = relay;
      if (passing != null) {
        passing.discard();
      }
    } else {
      outcome(Outcome.CLIENT_GONE);
      giveUp(499);
    }
  }

  /** Takes a response that no client waits for, so that its handler can end. */
  private void discard(Response response) {
    if (response.body() instanceof Response.Body.Received received) {
      http.response().setStatusCode(response.status());
      StreamRelay dropping = relay(received);
      relay = dropping;
      dropping.discard();
    } else {
      finish(response.status());
    }
  }

  /** Looks how far its client is. */
  void look(long now) {
    StreamRelay passing = relay;
    if (!(ended ? !left : passing != null && passing.awaitsClient())) {
      stall = null;
      return;
    }
    holdAnswer();
    long taken = (passing == null ? 0 : passing.takenBytes()) + connection.progress(http);
    Stall known = stall;
    if (known == null) {
      stall = new Stall(taken, now);
      return;
    }
    known.look(taken, now);
    StreamWindow window = passing == null ? null : passing.window();
    if (window != null && now - known.sinceNanos() >= Stall.AFTER_NANOS) {
      window.stalled();
    }
  }

  /** Tells what it holds, if something of it waits for its client. */
  void waiting(List<Stalled<Exchange>> into) {
    Stall standing = stall;
    if (standing != null) {
      StreamWindow window = relay == null ? null : relay.window();
      long bytes = held ? answerBytes : window == null ? 0 : window.underWay();
      into.add(new Stalled<>(connection, this, Math.max(bytes, largeBytes), standing.sinceNanos()));
    }
  }

  /** Its client stands still, and others wait for what it holds. */
  void cutStalled() {
    outcome(Outcome.STOOD_STILL);
    if (ended) {
      connection.cut(http);
    } else {
      cut(408);
    }
  }

  private boolean standsStill(long now, long nanos) {
    return stall == null || now - stall.sinceNanos() >= nanos;
  }

  /** Ends what stood still for too long. */
  void sweep(long now) {
    look(now);
    BodyReader reading = reader;
    StreamRelay passing = relay;
    long idleNanos = loop.limits().streamIdleNanos();
    if (ended) {
      if (now - endedNanos >= idleNanos && standsStill(now, idleNanos)) {
        connection.cut(http); // what the client has not read by now is not kept for it
      }
    } else if (reading != null
        && reading.awaitsClient()
        && now - reading.progressNanos() >= loop.limits().bodyIdleNanos()
        && (passing == null || now - passing.progressNanos() >= loop.limits().bodyIdleNanos())) {
      bodyTooSlow(ErrorResponses.bodyStoodStill(loop.limits().bodyIdleNanos()));
    } else if (reading != null && passing == null && lagsBehind(reading, now)) {
      bodyTooSlow(ErrorResponses.bodyTooSlow(loop.limits().minBodyBytesPerSecond()));
    } else if (passing != null
        && !detached
        && passing.awaitsClient()
        && now - passing.progressNanos() >= idleNanos
        && standsStill(now, idleNanos)
        && (reading == null || now - reading.progressNanos() >= idleNanos)) {
      outcome(Outcome.STOOD_STILL);
      cut(408);
    }
  }

  private boolean lagsBehind(BodyReader reading, long now) {
    int least = loop.limits().minBodyBytesPerSecond();
    return least > 0
        && reading.lagNanos(now, least, connection.letsSend()) > loop.limits().bodyRateGraceNanos();
  }

  private void bodyTooSlow(HttpFailure why) {
    outcome(Outcome.STOOD_STILL);
    if (http.response().headWritten()) {
      cut(408);
      return;
    }
    RoutedCall underWay = call;
    answerAndClose(why);
    if (underWay != null) {
      underWay.cancel();
    }
  }

  /** When the request was over, for a connection that keeps it until all of its answer is sent. */
  void endedAt(long now) {
    endedNanos = now;
  }

  boolean isOver() {
    return ended;
  }

  HttpServerRequest request() {
    return http;
  }

  void later(Runnable task) {
    loop.later(task);
  }

  void after(long millis, Runnable task) {
    loop.after(millis, task);
  }

  long coarseNow() {
    return loop.coarseNow();
  }

  private void giveUp(int status) {
    if (ended) {
      return;
    }
    finish(status);
    RoutedCall underWay = call;
    if (underWay != null) {
      underWay.cancel();
    }
  }

  /** The head is out, so all that is left is to end without ending the body. */
  private void cut(int status) {
    if (recorder != null) {
      recorder.outcome("cut_short"); // if nobody said why
    }
    giveUp(status);
    connection.cut(http);
  }

  /** Why there is no ordinary answer, if that is logged. */
  private void outcome(Outcome reason) {
    if (access != null && !ended) {
      access.outcome(reason);
    }
    if (recorder != null && reason != Outcome.ANSWERED) {
      recorder.outcome(reason.code());
    }
  }

  /** The one end of every exchange. */
  private void finish(int status) {
    ended = true;
    BodyReader rest = reader;
    if (rest != null) {
      rest.stop();
      reader = null;
    }
    StreamRelay passing = relay;
    if (passing != null) {
      passing.stop();
    }
    if (waiting != null) {
      waiting = null;
      loop.forgetLarge(this);
    }
    long now = loop.now();
    route.meters().answered(http.method(), status, now - startedNanos);
    if (access != null) {
      access.ended(status, http.bytesRead(), http.response().bytesWritten(), now);
    }
    connection.ended(this, now);
    if (recorder != null) {
      recorder.end(status);
    }
    if (!leaving) {
      left();
    }
  }

  private void holdAnswer() {
    if (!held && answerBytes > 0) {
      held = true;
      loop.streams().hold(answerBytes);
    }
  }

  /** The socket has taken the last of its answer, or never will. */
  @Override
  public void complete(@Nullable Void taken, @Nullable Throwable failure) {
    leaving = false; // or its end is not told yet
    left();
  }

  /** Nothing of its answer is here any more: it is no longer under way. */
  void left() {
    if (!ended || left) {
      return;
    }
    left = true;
    stall = null;
    if (held) {
      held = false;
      loop.streams().release(answerBytes);
    }
    largeIs(0);
    loop.meters().ended();
    connection.left(this);
  }
}
