package dev.berth.ingress;

import dev.berth.api.BerthException;
import dev.berth.api.Headers;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.dialect.DialectProblem;
import dev.berth.ingress.access.AccessEntry;
import dev.berth.ingress.access.AccessOutcome;
import dev.berth.protocol.RequestOrigin;
import dev.berth.protocol.port.HttpErrorResponse;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.routing.CallObserver;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.LeasedSelection;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.SlotRequest;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.routing.ranking.KeyHash;
import dev.berth.routing.reserve.ReservationTable;
import dev.berth.routing.traffic.TrafficPolicy;
import io.vertx.core.Future;
import io.vertx.core.http.HttpServerRequest;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An HTTP request from its head to the end of its response. Reads the body, waits for memory, calls
 * the router, and passes the result to its {@link ClientResponse}. Confined to the event loop. The
 * class has over 500 lines, as its states and all moves between them stand together.
 *
 * <p>Source: Ray Serve's proxy. As in Ray, the handler sees the full path; it sees no root path.
 */
sealed class HttpExchange extends ExchangeForm implements CallObserver, LongConsumer
    permits EndpointExchange, DialectExchange, McpExchange {
  private static final Logger LOG = LoggerFactory.getLogger(HttpExchange.class);

  final ServingLoop loop;
  final ConnectionPort connection;
  final HttpServerRequest http;
  final ClientResponse answer = new ClientResponse(this);
  ResolvedRoute route; // replaced once if the request was parked
  final long startedNanos;
  final String requestId;
  final @Nullable AccessEntry access; // null unless its route is logged
  final @Nullable RequestRecorder recorder; // null unless the request is explained
  @Nullable BodyReader reader; // until the body has ended
  private ExchangeState state = ExchangeState.READING;
  private long timeoutNanos; // of its route
  private int room; // bytes acquired from the connection
  private @Nullable Request waiting; // while it waits for response memory
  private @Nullable RoutedCall call;
  private @Nullable SplitRequest split; // null if one deployment serves the route

  HttpExchange(
      ConnectionPort connection,
      HttpServerRequest http,
      ResolvedRoute route,
      @Nullable SplitRequest split) {
    this.loop = connection.loop;
    this.connection = connection;
    this.http = http;
    this.route = route;
    this.startedNanos = loop.now();
    this.requestId = loop.requestIds.idFor(http.headers().get(REQUEST_ID));
    this.access = AccessEntry.of(route.access(), http, requestId, startedNanos);
    this.recorder =
        loop.explains.recorder(loop.router, route.router(), http, requestId, startedNanos);
    splitBy(split);
  }

  private void splitBy(@Nullable SplitRequest by) {
    split = by;
    timeoutNanos =
        route.timeoutNanos(http.headers().get(REQUEST_TIMEOUT), loop.requestTimeoutNanos);
    if (by != null && recorder != null) {
      recorder.recordSplit(by.why());
    }
  }

  /** Sets the target of a parked request whose route now has one. */
  final void lead(ResolvedRoute to, @Nullable SplitRequest by) {
    route = by == null ? to : by.side();
    splitBy(by);
  }

  final void become(ExchangeState next) {
    assert loop.router.isHere();
    assert state.mayBecome(next) : state + " to " + next;
    state = next;
  }

  final boolean is(ExchangeState one) {
    return state == one;
  }

  @Override
  final boolean isOver() {
    return state.ordinal() >= ExchangeState.LEAVING.ordinal();
  }

  // --- request ---

  /** Starts the request if the memory limit of in-flight requests allows, else refuses it. */
  final void startIfRoom() {
    int headers = loop.headers.of(http.headers());
    if (loop.ingress.isLoop(route.router(), http)) {
      answer.send(HttpErrorResponse.LOOP_DETECTED);
    } else if (tryTakeRoom(
        RequestMemoryBudget.REQUEST_BYTES + headers * RequestMemoryBudget.HEADER_BYTES)) {
      begin();
    }
  }

  /** Begins to read the body, which starts the call. */
  void begin() {
    BodyReader.begin(this);
  }

  /** Returns whether the request got more memory. If not, it is refused. */
  boolean tryTakeRoom(int bytes) {
    if (connection.tryTakeRoom(bytes)) {
      room += bytes;
      return true;
    }
    answer.send(ErrorResponses.TOO_MANY_REQUESTS);
    return false;
  }

  /** Releases all memory of the request. Called by the connection. */
  final void giveRoom() {
    connection.giveRoom(room);
    room = 0;
  }

  @Override
  void refuse(DialectProblem problem) {
    answer.send(problem.response());
  }

  /** Refuses the rest of the body. A client that still sends gets time to read the response. */
  @Override
  final void refuseBody(HttpErrorResponse why) {
    refuseBody(why, answer::sendAndLinger);
  }

  private void refuseBody(HttpErrorResponse why, Consumer<HttpErrorResponse> sender) {
    if (http.response().headWritten()) {
      abort(why.status());
    } else { // a handler that streams the body may have started
      sender.accept(call != null && call.sent() ? why.afterItStarted() : why);
      cancelCall();
    }
  }

  @Override
  int gatheredBytes() {
    return wholeBytes(loop, route.to(), http.headers());
  }

  void call(Request.Body body, long nowNanos) {
    determineCost(loop, route.to(), http.headers(), body, nowNanos);
  }

  @Override
  final void proceed(Request.Body body, long nowNanos) {
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
      recorder.recordReceived();
    }
    long large = loop.answers.take(this, route.sizes(), http.path(), nowNanos);
    if (large < 0) {
      become(ExchangeState.WAITING);
      waiting = request;
    } else {
      run(request, large, nowNanos);
    }
  }

  /** Runs the request with the granted bytes of response memory. Negative bytes refuse it. */
  @Override
  public final void accept(long bytes) {
    Request request = Objects.requireNonNull(waiting); // else the queue would not hold it
    waiting = null;
    if (bytes < 0) {
      loop.ingress.refusedRequests.increment();
      answer.send(ErrorResponses.TOO_MANY_REQUESTS);
    } else {
      run(request, bytes, loop.now());
    }
  }

  private void run(Request request, long roomTaken, long nowNanos) {
    answer.largeBytes = roomTaken;
    become(ExchangeState.CALLING);
    DeploymentRouter router = Objects.requireNonNull(route.router()); // run() needs a deployment
    try {
      String token = ReservationHeader.take(http.headers());
      if (token == null) {
        call = start(router, loop.router, request, this, nowNanos);
      } else {
        use(token, router, request);
      }
      if (split != null && !isOver()) { // else the call was refused at once
        split.copies().make(request, this, loop.router, loop.traffics, nowNanos);
      }
    } catch (ReservationException refused) {
      answer.send(HttpErrorResponse.of(refused.problem()));
    } catch (RuntimeException broken) {
      LOG.error("request {}: not routed", requestId, broken);
      onFailure(new BerthException.HandlerFailed("not routed", broken));
    }
  }

  private void use(String token, DeploymentRouter router, Request request) {
    ReservationTable reservations = loop.ingress.reservations();
    String keeper = reservations.keeperOf(token);
    if (keeper == null) {
      call = reservations.use(token, router, loop.router, request, this);
      return;
    }
    reservations
        .fetch(keeper, token, router, loop.router, this)
        .onSuccess(slot -> run(request, slot))
        .onFailure(why -> notFetched((ReservationException) why));
  }

  private void run(Request request, LeasedSelection slot) {
    if (isOver()) {
      slot.close();
      return;
    }
    ReservationProblem lost = slot.take();
    if (lost != null) {
      answer.send(HttpErrorResponse.of(lost));
      return;
    }
    call = slot.newCall(loop.router, request, this);
    call.dispatchTaken();
  }

  private void notFetched(ReservationException why) {
    if (loop.router.isPast(deadlineNanos())) {
      onFailure(SlotRequest.timeout());
    } else if (!isOver()) {
      answer.send(HttpErrorResponse.of(why.problem()));
    }
  }

  @Override
  public String requestId() {
    return requestId;
  }

  /** Source: the first router of Ray Serve (seed 002). */
  @Override
  public String methodName() {
    return Objects.requireNonNullElse(http.headers().get(METHOD), "");
  }

  @Override
  public String sessionId() {
    String key = split == null ? null : split.key(); // it also identifies a session
    return Objects.requireNonNullElse(key == null ? http.headers().get(SESSION_ID) : key, "");
  }

  /** Returns the hash of the traffic key, with or without a split, or else of the session id. */
  @Override
  public long routingKey() {
    String key = split == null ? TrafficPolicy.key(http.headers().get(KEY)) : split.key();
    return KeyHash.of(key == null ? sessionId() : key);
  }

  @Override
  public RequestOrigin origin() {
    return connection.originOf(http);
  }

  @Override
  public long arrivedNanos() {
    return startedNanos;
  }

  @Override
  public long deadlineNanos() {
    return timeoutNanos < 0 ? Long.MAX_VALUE : startedNanos + timeoutNanos;
  }

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
  public void onInformational(Headers hints) {
    answer.hint(hints);
  }

  @Override
  public void onResponse(Response response, String replicaId) {
    if (split != null) {
      split.copies().userGot(response);
    }
    if (isOver()) {
      StreamRelay.cancel(response);
      return;
    }
    if (access != null) {
      access.answeredBy(replicaId);
    }
    if (is(ExchangeState.DETACHED)) {
      answer.discard(response);
      return;
    }
    try {
      answer.send(response);
    } catch (RuntimeException unsendable) { // such as a header that HTTP cannot carry
      LOG.warn("request {}: response not sent: {}", requestId, unsendable.toString());
      StreamRelay.cancel(response);
      onFailure(new BerthException.HandlerFailed("unsendable response", unsendable));
    }
  }

  @Override
  public void onFailure(BerthException failure) {
    if (!isOver()) {
      outcome(AccessOutcome.of(failure.kind()));
      // An earlier timeout is that of a nested call, of unknown length.
      long after = loop.now() - startedNanos < timeoutNanos ? -1 : timeoutNanos;
      HttpErrorResponse told =
          failure.kind() == BerthException.Kind.NO_SUCH_METHOD && !methodName().isEmpty()
              ? HttpErrorResponse.NO_SUCH_METHOD
              : failure.kind() == BerthException.Kind.COST_TOO_LARGE && cost() > 1
                  ? HttpErrorResponse.COST_TOO_LARGE
                  : ErrorResponses.of(call, failure, requestId, after, route.to().backpressure());
      if (is(ExchangeState.DETACHED)) {
        finish(told.status(), null);
      } else if (http.response().headWritten()) {
        answer.breakOff(told);
      } else {
        http.response().headers().clear(); // of a response that could not be sent
        answer.send(told);
      }
    }
  }

  // --- ending ---

  /**
   * Called when the client has left. Its slot becomes free when the handler has settled. A complete
   * request with {@code x-request-disconnect-disabled: ?1} continues without its client.
   */
  void clientGone() {
    if (!isOver()
        && call != null
        && (reader == null || reader.hasEnded())
        && "?1".equals(http.headers().get(DISCONNECT_DISABLED))) {
      become(ExchangeState.DETACHED);
      if (answer.relay != null) {
        answer.relay.discard();
      }
    } else {
      outcome(AccessOutcome.CLIENT_GONE);
      giveUp(499);
    }
  }

  /** Ends the request if it has stalled for too long. */
  void sweep(long now) {
    answer.look(now);
    BodyReader reading = reader;
    StreamRelay passing = answer.relay;
    long idleNanos = loop.streamIdleNanos;
    if (isOver()) {
      answer.sweepLeaving(now, idleNanos);
    } else if ((is(ExchangeState.READING) || answer.uncompressed != null)
        && timeoutNanos >= 0
        && now - startedNanos >= timeoutNanos) { // without a call, no other timer runs
      String early = reading == null ? "its route had no deployment" : "its body was incomplete";
      String waited = is(ExchangeState.READING) ? early : "its response was not compressed";
      onFailure(new BerthException.Timeout(waited + " in time"));
    } else if (reading != null
        && reading.awaitsClient()
        && now - reading.progressNanos() >= loop.bodyIdleNanos
        && (passing == null || now - passing.progressNanos() >= loop.bodyIdleNanos)) {
      bodyTooSlow(ErrorResponses.bodyStoodStill(loop.bodyIdleNanos));
    } else if (reading != null && passing == null && reading.isTooSlow(now)) {
      bodyTooSlow(ErrorResponses.bodyTooSlow(loop.minBodyBytesPerSecond));
    } else if (passing != null
        && !is(ExchangeState.DETACHED)
        && passing.awaitsClient()
        && now - passing.progressNanos() >= idleNanos
        && answer.standsStill(now, idleNanos)
        && (reading == null || now - reading.progressNanos() >= idleNanos)) {
      outcome(AccessOutcome.STOOD_STILL);
      abort(408);
    }
  }

  private void bodyTooSlow(HttpErrorResponse why) {
    outcome(AccessOutcome.STOOD_STILL);
    refuseBody(why, answer::sendAndClose);
  }

  /** Records why there is no regular response, for the access log and the explanation. */
  final void outcome(AccessOutcome reason) {
    if (access != null && !isOver()) {
      access.outcome(reason);
    }
    if (recorder != null && reason != AccessOutcome.ANSWERED) {
      recorder.outcome(reason.code());
    }
  }

  private void giveUp(int status) {
    if (!isOver()) {
      finish(status, null);
      cancelCall();
    }
  }

  /** Aborts a response whose head is already sent, without ending its body. */
  final void abort(int status) {
    if (recorder != null) {
      recorder.outcome("cut_short"); // unless a reason is recorded
    }
    giveUp(status);
    connection.abort(http);
  }

  private void cancelCall() {
    if (split != null) {
      split.copies().cancel();
    }
    if (call != null) {
      call.cancel();
    }
  }

  /**
   * Ends the request, exactly once. Reading, waiting and logging end here.
   *
   * @param written completes when the socket has taken the whole response; null for none
   */
  final void finish(int status, @Nullable Future<Void> written) {
    if (written != null) {
      answer.written(written);
    }
    become(ExchangeState.LEAVING);
    if (reader != null) {
      reader.stop();
      reader = null;
    }
    if (waiting != null) {
      waiting = null;
      loop.forgetLarge(this);
    }
    answer.stop();
    long now = loop.now();
    answer.meters().recordResponse(http.method(), status, now - startedNanos);
    onFinish(status, now);
    if (access != null) {
      access.cost(call == null ? cost : call.cost()); // of its reservation, if it has one
      access.complete(status, http.bytesRead(), http.response().bytesWritten(), now);
    }
    connection.onExchangeFinished(this, now);
    if (recorder != null) {
      recorder.end(status);
    }
    if (written == null || written.isComplete()) {
      onResponseLeft();
    }
  }

  /** Ends the in-flight time of the request, when its response has left the instance. */
  final void onResponseLeft() {
    if (state == ExchangeState.LEAVING) {
      become(ExchangeState.LEFT);
      answer.releaseMemory();
      loop.meters.recordEnd();
      connection.onExchangeLeft(this);
    }
  }
}
