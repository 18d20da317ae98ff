package dev.berth.ingress;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.ingress.access.AccessEntry;
import dev.berth.ingress.access.Outcome;
import dev.berth.protocol.port.HttpFailure;
import dev.berth.protocol.port.Reservations.Problem;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.routing.CallOwner;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.HeldSelection;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.SlotRequest;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.routing.ranking.KeyHash;
import dev.berth.routing.reserve.ReservationTable;
import dev.berth.routing.traffic.TrafficPolicy;
import io.vertx.core.Future;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request: its body is read, it waits for room, and is called; what comes of that becomes its
 * {@link ClientAnswer}. It is what the router tells of the answer. Confined to its loop.
 *
 * <p>Source: Ray Serve's proxy. The handler sees the full path, as there; Ray's {@code root_path}
 * has no counterpart in {@link Request}.
 */
sealed class Exchange implements CallOwner, LongConsumer permits ApiExchange {
  private static final Logger LOG = LoggerFactory.getLogger(Exchange.class);
  static final CharSequence EXPECT = HttpHeaders.createOptimized("expect");
  private static final CharSequence REQUEST_ID = HttpHeaders.createOptimized("x-request-id");
  private static final CharSequence SESSION_ID = HttpHeaders.createOptimized("x-session-id");
  private static final CharSequence CALL_METHOD =
      HttpHeaders.createOptimized("x-serve-call-method");
  private static final CharSequence KEY = HttpHeaders.createOptimized(TrafficPolicy.KEY_HEADER);
  private static final CharSequence REQUEST_TIMEOUT =
      HttpHeaders.createOptimized("x-request-timeout-seconds");
  private static final CharSequence DISCONNECT_DISABLED =
      HttpHeaders.createOptimized("x-request-disconnect-disabled");
  private static final long NO_DEADLINE = Long.MAX_VALUE;

  final ServingLoop loop;
  final ConnectionPort connection;
  final HttpServerRequest http;
  final ClientAnswer answer = new ClientAnswer(this);
  BoundRoute route; // another one once, of a request that was parked
  final long startedNanos;
  final String requestId;
  final @Nullable AccessEntry access; // when its route is logged
  final @Nullable RequestRecorder recorder; // when it is explained
  @Nullable BodyReader reader; // until the body has ended
  private ExchangeState state = ExchangeState.READING;
  private long timeoutNanos; // of its route
  private int room; // taken of its connection's, bytes
  private @Nullable Request waiting; // while it waits for room for its answer
  private @Nullable RoutedCall call;
  private @Nullable SplitRequest split; // of a route with several deployments

  /**
   * @param split why that route of several; null of one with one deployment
   */
  Exchange(
      ConnectionPort connection,
      HttpServerRequest http,
      BoundRoute route,
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
      recorder.split(by.why());
    }
  }

  /** It was parked, and its route leads somewhere now. */
  final void lead(BoundRoute to, @Nullable SplitRequest by) {
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

  final boolean isOver() {
    return state.ordinal() >= ExchangeState.LEAVING.ordinal();
  }

  // --- the request ---

  /** Starts it if the requests under way leave room for one more; else it is refused. */
  final void startIfRoom() {
    int headers = loop.headers.of(http.headers());
    if (tryTakeRoom(RequestRoom.REQUEST_BYTES + headers * RequestRoom.HEADER_BYTES)) {
      BodyReader.begin(this);
    }
  }

  /** Whether it may take more memory; if not it is answered. */
  boolean tryTakeRoom(int bytes) {
    if (connection.tryTakeRoom(bytes)) {
      room += bytes;
      return true;
    }
    answer.send(ErrorResponses.TOO_MANY_REQUESTS);
    return false;
  }

  /** Nothing of it is here any more: its connection's word. */
  final void giveRoom() {
    connection.giveRoom(room);
    room = 0;
  }

  /** Whether its client waits to be told to go on. */
  final boolean expectsContinue() {
    return http.headers().contains(EXPECT, "100-continue", true);
  }

  /** No more of its body is taken. A client that still sends gets time to read the answer. */
  final void refuseBody(HttpFailure why) {
    refuseBody(why, answer::sendAndLinger);
  }

  private void refuseBody(HttpFailure why, Consumer<HttpFailure> sender) {
    if (http.response().headWritten()) {
      cut(why.status());
    } else { // perhaps when a handler that reads it as it comes has begun
      sender.accept(call != null && call.sent() ? why.afterItStarted() : why);
      cancelCall();
    }
  }

  void call(Request.Body body, long nowNanos) {
    if (isOver()) {
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
    long large = loop.answers.take(this, route.sizes(), http.path(), nowNanos);
    if (large < 0) {
      become(ExchangeState.WAITING);
      waiting = request;
    } else {
      run(request, large, nowNanos);
    }
  }

  /**
   * Room for its answer is there, and its; or there was none for too long.
   *
   * @param bytes negative for none
   */
  @Override
  public final void accept(long bytes) {
    Request request = Objects.requireNonNull(waiting); // or it would have been forgotten
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
    DeploymentRouter router = Objects.requireNonNull(route.router()); // a route that is no door
    try {
      String token = ReservationHeader.take(http.headers());
      if (token == null) {
        call = RoutedCall.start(router, loop.router, request, this, nowNanos);
      } else {
        use(token, router, request);
      }
      if (split != null && !isOver()) { // else it was refused at once
        split.copies.make(request, this, loop.router, loop.traffics, nowNanos);
      }
    } catch (ReservationException refused) {
      answer.send(HttpFailure.of(refused.problem()));
    } catch (RuntimeException broken) {
      LOG.error("request {} could not be routed", requestId, broken);
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

  private void run(Request request, HeldSelection slot) {
    if (isOver()) {
      slot.close();
      return;
    }
    Problem lost = slot.take();
    if (lost != null) {
      answer.send(HttpFailure.of(lost));
      return;
    }
    RoutedCall begun = slot.newCall(loop.router, request, this);
    call = begun;
    begun.dispatchTaken();
  }

  private void notFetched(ReservationException why) {
    if (loop.router.isPast(deadlineNanos())) {
      onFailure(SlotRequest.timeout());
    } else if (!isOver()) {
      answer.send(HttpFailure.of(why.problem()));
    }
  }

  @Override
  public String requestId() {
    return requestId;
  }

  /** Source: the first router of Ray Serve (seed 002). */
  @Override
  public String methodName() {
    return Objects.requireNonNullElse(http.headers().get(CALL_METHOD), "");
  }

  @Override
  public String sessionId() {
    if (split != null && split.key() != null) {
      return split.key(); // that too says who it is for
    }
    return Objects.requireNonNullElse(http.headers().get(SESSION_ID), "");
  }

  /** A key says who it is for, also where there is nothing to split. */
  @Override
  public long routingKey() {
    String key = split == null ? TrafficPolicy.key(http.headers().get(KEY)) : split.key();
    return KeyHash.of(key == null ? sessionId() : key);
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
    if (split != null) {
      split.copies.userGot(response);
    }
    if (isOver()) {
      StreamRelay.cancel(response);
      return;
    }
    if (is(ExchangeState.DETACHED)) {
      answer.discard(response);
      return;
    }
    try {
      answer.send(response);
    } catch (RuntimeException unsendable) {
      // A header that HTTP cannot carry, say: the handler's failure, not the client's.
      LOG.warn("request {}: its response cannot be sent: {}", requestId, unsendable.toString());
      StreamRelay.cancel(response);
      onFailure(new BerthException.HandlerFailed("unsendable response", unsendable));
    }
  }

  @Override
  public void onFailure(BerthException failure) {
    if (!isOver()) {
      outcome(Outcome.of(failure.kind()));
      long after = loop.now() - startedNanos < timeoutNanos ? -1 : timeoutNanos; // else a call's
      HttpFailure told =
          failure.kind() == BerthException.Kind.NO_SUCH_METHOD && !methodName().isEmpty()
              ? HttpFailure.NO_SUCH_METHOD
              : ErrorResponses.of(call, failure, requestId, after, route.to().backpressure());
      if (is(ExchangeState.DETACHED)) {
        finish(told.status(), null);
      } else if (http.response().headWritten()) {
        cut(told.status());
      } else {
        answer.send(told);
      }
    }
  }

  // --- ending ---

  /**
   * The client is not there any more. The slot is freed when the handler has settled. A request
   * that asked for it goes on without its client, once it is whole.
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
      outcome(Outcome.CLIENT_GONE);
      giveUp(499);
    }
  }

  /** Ends what stood still for too long. */
  void sweep(long now) {
    answer.look(now);
    BodyReader reading = reader;
    StreamRelay passing = answer.relay;
    long idleNanos = loop.streamIdleNanos;
    if (isOver()) {
      answer.sweepLeaving(now, idleNanos);
    } else if (is(ExchangeState.READING)
        && timeoutNanos >= 0
        && now - startedNanos >= timeoutNanos) { // no call is there that would see to it
      String waited = reading == null ? "its route led nowhere" : "its body was not whole";
      onFailure(new BerthException.Timeout(waited + " in time"));
    } else if (reading != null
        && reading.awaitsClient()
        && now - reading.progressNanos() >= loop.bodyIdleNanos
        && (passing == null || now - passing.progressNanos() >= loop.bodyIdleNanos)) {
      bodyTooSlow(ErrorResponses.bodyStoodStill(loop.bodyIdleNanos));
    } else if (reading != null && passing == null && lagsBehind(reading, now)) {
      bodyTooSlow(ErrorResponses.bodyTooSlow(loop.minBodyBytesPerSecond));
    } else if (passing != null
        && !is(ExchangeState.DETACHED)
        && passing.awaitsClient()
        && now - passing.progressNanos() >= idleNanos
        && answer.standsStill(now, idleNanos)
        && (reading == null || now - reading.progressNanos() >= idleNanos)) {
      outcome(Outcome.STOOD_STILL);
      cut(408);
    }
  }

  private boolean lagsBehind(BodyReader reading, long now) {
    int least = loop.minBodyBytesPerSecond;
    return least > 0
        && reading.lagNanos(now, least, connection.letsSend()) > loop.bodyRateGraceNanos;
  }

  private void bodyTooSlow(HttpFailure why) {
    outcome(Outcome.STOOD_STILL);
    refuseBody(why, answer::sendAndClose);
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

  private void giveUp(int status) {
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

  /** Nobody wants what was called. */
  private void cancelCall() {
    if (split != null) {
      split.copies.cancel();
    }
    if (call != null) {
      call.cancel();
    }
  }

  /**
   * The one end of every request: nothing of it is read, waited for or logged from now on.
   *
   * @param written completes when the socket has taken the last of its answer; null for none
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
    route.meters().answered(http.method(), status, now - startedNanos);
    if (access != null) {
      access.ended(status, http.bytesRead(), http.response().bytesWritten(), now);
    }
    connection.ended(this, now);
    if (recorder != null) {
      recorder.end(status);
    }
    if (written == null || written.isComplete()) {
      left();
    }
  }

  /** Nothing of its answer is here any more: it is no longer under way. */
  final void left() {
    if (state == ExchangeState.LEAVING) {
      become(ExchangeState.LEFT);
      answer.left();
      loop.meters.ended();
      connection.left(this);
    }
  }
}
