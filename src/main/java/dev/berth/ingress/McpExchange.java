package dev.berth.ingress;

import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.dialect.DialectProblem;
import dev.berth.dialect.ModelAdmission;
import dev.berth.dialect.mcp.McpCall;
import dev.berth.dialect.mcp.McpCall.CallKind;
import dev.berth.dialect.mcp.McpErrors;
import dev.berth.dialect.mcp.McpMessage;
import dev.berth.dialect.mcp.McpMessage.MessageKind;
import dev.berth.dialect.mcp.McpRevision;
import dev.berth.dialect.mcp.McpRouteRules;
import dev.berth.dialect.mcp.McpRules;
import dev.berth.dialect.mcp.McpScanner;
import dev.berth.dialect.mcp.ResponseEvents;
import dev.berth.dialect.mcp.SessionIds.SessionId;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.port.HttpErrorResponse;
import dev.berth.routing.CallObserver;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.ReplicaChoice;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.slots.RoutedReplica;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Exchange of a request of a client of the Model Context Protocol. A session selects the replica; a
 * JSON-RPC request takes a slot there, and all other messages and streams take none. Confined to
 * the event loop.
 */
final class McpExchange extends HttpExchange {
  /**
   * Maximum size of a message in bytes, as in the SDK for Python. The event loop reads it whole.
   */
  private static final long MAX_BODY_BYTES = 4 << 20;

  private static final CharSequence CALL = HttpHeaders.createOptimized(McpCall.HEADER);
  private static final long MAX_MESSAGE_NANOS = TimeUnit.SECONDS.toNanos(30);
  private static final long CHECK_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final String SESSION = "mcp-session-id";
  private static final String VERSION = "mcp-protocol-version";
  private static final String LAST_EVENT = "last-event-id";
  private static final List<String> REVISED = List.of(SESSION, LAST_EVENT); // headers of sessions

  private final McpRouteRules rules;
  private final String path; // below the prefix of the route
  private McpRevision revision = McpRevision.SESSIONS;
  private @Nullable SessionId session;
  private @Nullable RoutedReplica pinned; // of the session
  private @Nullable McpMessage message; // null for a request without a body
  private @Nullable McpCall kind; // set before the call
  private @Nullable String param; // of the request, that is at fault
  private @Nullable RoutedCall routed; // set once the request was sent or waits
  private long checkAtNanos = startedNanos; // next check of the session of a waiting request
  private @Nullable ResponseEvents passing; // the response, if it is a stream

  /**
   * @param path below the prefix of the route
   */
  McpExchange(
      ConnectionPort connection,
      HttpServerRequest http,
      ResolvedRoute route,
      McpRouteRules rules,
      String path) {
    super(connection, http, route, null);
    this.rules = rules;
    this.path = path.equals("/") && route.prefix().equals("/") ? "" : path;
  }

  @Override
  int gatheredBytes() {
    return loop.wholeBytes(MAX_BODY_BYTES);
  }

  // --- request ---

  @Override
  void begin() {
    MultiMap headers = http.headers();
    try {
      McpRules.checkOrigin(only("origin"), rules.origins());
      revision = McpRevision.of(only(VERSION));
      McpRules.checkTarget(path, http.method().name(), revision);
      ModelAdmission.requirePlain(headers.getAll(HttpHeaders.CONTENT_ENCODING));
      headers.remove(HttpHeaders.AUTHORIZATION); // of this server, not of an upstream
      headers.remove(CALL);
      if (revision == McpRevision.STATELESS) {
        REVISED.forEach(headers::remove);
      }
      String presented = only(SESSION);
      session = presented == null ? null : rules.sessions().read(presented);
      if (presented != null && session == null) {
        throw McpErrors.lostSession();
      }
      headers.remove(DISCONNECT_DISABLED);
      requirePlainNames(headers);
      super.begin();
    } catch (DialectProblem problem) {
      refuse(problem);
    }
  }

  /** Requires that no header has the name of one of MCP for a server alone, or is of one hop. */
  private static void requirePlainNames(MultiMap headers) {
    String connection = String.join(",", headers.getAll(HttpHeaders.CONNECTION));
    boolean hides =
        connection.toLowerCase(Locale.ROOT).contains("mcp-")
            || headers.names().stream()
                .anyMatch(
                    name ->
                        name.indexOf('_') >= 0
                            && name.replace('_', '-').toLowerCase(Locale.ROOT).startsWith("mcp-"));
    if (hides) {
      throw new DialectProblem(
          400, "invalid_header", "mcp-…: with _ or of one hop (expected: neither)", null);
    }
  }

  private boolean isPost() {
    return http.method().name().equals("POST");
  }

  /** Returns the only value of a header; null for none. */
  private @Nullable String only(String name) {
    List<String> all = http.headers().getAll(name);
    if (all.size() > 1) {
      throw new DialectProblem(
          400, "invalid_header", name + ": several values (expected: one)", null);
    }
    return all.isEmpty() ? null : all.get(0);
  }

  @Override
  void refuse(DialectProblem problem) {
    param = problem.param();
    if (problem.response().status() == 405) {
      http.response()
          .putHeader("allow", revision == McpRevision.SESSIONS ? "POST, GET, DELETE" : "POST");
    }
    super.refuse(problem);
  }

  @Override
  void call(Request.Body body, long nowNanos) {
    if (isOver()) {
      return;
    }
    if (!(body instanceof Request.Body.Whole whole)) {
      refuseBody(ErrorResponses.TOO_MANY_REQUESTS); // no memory for the whole body
      return;
    }
    try {
      McpCall call = classify(whole.bytes());
      boolean reserved = ReservationHeader.of(http.headers()) != null;
      McpRules.checkReservation(call, reserved);
      record(call);
      pin(call);
      McpCall sent = !reserved && isClosed(call) ? McpCall.CLOSED : call;
      kind = sent;
      http.headers().set(CALL, sent.header());
      if (revision == McpRevision.SESSIONS && sent.kind() == CallKind.REQUEST) {
        http.headers().set(DISCONNECT_DISABLED, "?1");
      }
    } catch (DialectProblem problem) {
      refuse(problem);
      return;
    }
    super.call(body, nowNanos);
  }

  /**
   * Records the message, and the upstream of its session by its hash, for explanations and logs.
   */
  private void record(McpCall call) {
    String method = message == null ? http.method().name() : McpRules.plainMethod(message);
    if (access != null && message != null) {
      access.message(method, call.tool());
    }
    if (recorder != null) {
      String tool = call.tool().isEmpty() ? "" : " " + call.tool();
      String origin = session == null ? "" : ", session of upstream " + session.upstream();
      recorder.recordSplit(method + tool + origin);
    }
  }

  private McpCall classify(Buffer body) {
    if (!isPost()) {
      return McpRules.ofMethod(http.method().name(), only(LAST_EVENT) != null);
    }
    McpMessage scanned = McpScanner.scan(body);
    message = scanned;
    return McpRules.ofMessage(scanned, revision, this::only);
  }

  /** Finds the replica of the session. A draining one still gets messages, but no requests. */
  private void pin(McpCall call) {
    DeploymentRouter router = Objects.requireNonNull(route.router());
    SessionId known = session;
    if (known != null) {
      pinned = ReplicaChoice.find(router, replica -> known.upstream().equals(hash(replica)));
      boolean usable = pinned != null && (pinned.routable() || call.kind() == CallKind.MESSAGE);
      if (!usable) {
        throw McpErrors.lostSession();
      }
    } else if (call.kind() != CallKind.REQUEST) {
      pinned = ReplicaChoice.anyOpen(router, loop.router);
      if (pinned == null) {
        answer.send(HttpErrorResponse.of(BerthException.Kind.DEPLOYMENT_UNAVAILABLE));
      }
    }
  }

  private String hash(RoutedReplica replica) {
    String upstream = replica.info.metadata().get(ReplicaInfo.UPSTREAM);
    return upstream == null ? "" : rules.sessions().hash(upstream);
  }

  /** Returns whether a request would wait for a replica that grants no slot. */
  private boolean isClosed(McpCall call) {
    return call.kind() == CallKind.REQUEST && pinned != null && pinned.maxOngoing() == 0;
  }

  @Override
  RoutedCall start(
      DeploymentRouter router, RouterLoop on, Request request, CallObserver owner, long nowNanos) {
    RoutedReplica only = pinned;
    RoutedCall call =
        only == null
            ? super.start(router, on, request, owner, nowNanos)
            : RoutedCall.start(router, on, request, owner, only, call().kind() != CallKind.REQUEST);
    routed = call;
    return call;
  }

  @Override
  boolean takesSlots() {
    return call().kind() == CallKind.REQUEST;
  }

  @Override
  public String limit() {
    return call().kind() == CallKind.REQUEST ? call().tool() : "";
  }

  @Override
  public boolean isWanted() {
    return !is(ExchangeState.DETACHED); // its client left after it was sent
  }

  private McpCall call() {
    return Objects.requireNonNull(kind);
  }

  @Override
  public long deadlineNanos() {
    if (call().isStream()) {
      return Long.MAX_VALUE;
    }
    long usual = super.deadlineNanos();
    return call().kind() == CallKind.MESSAGE
        ? Math.min(usual, startedNanos + MAX_MESSAGE_NANOS)
        : usual;
  }

  // --- response ---

  @Override
  public void onResponse(Response response, String replicaId) {
    DialectProblem problem = McpErrors.ofReplica(response.headers().get(McpCall.HEADER));
    if (problem != null && !isOver() && !is(ExchangeState.DETACHED)) {
      StreamRelay.cancel(response);
      refuse(problem);
      return;
    }
    String type = response.headers().get("content-type");
    boolean plain = response.headers().get("content-encoding") == null;
    if (plain && type != null && type.startsWith("text/event-stream")) {
      passing = new ResponseEvents();
    }
    super.onResponse(response, replicaId);
  }

  @Override
  Buffer filter(Buffer piece, boolean last) {
    if (passing != null) {
      passing.pass(piece);
    }
    return piece;
  }

  @Override
  Buffer errorBody(HttpErrorResponse failure) {
    return McpErrors.body(failure, id(), param, requestId);
  }

  @Override
  @Nullable Buffer errorEvent(HttpErrorResponse failure) {
    ResponseEvents passed = passing;
    if (!isRequest() || passed == null || !passed.atBoundary()) {
      return null;
    }
    return passed.sawResponse() // a request has one response
        ? Buffer.buffer()
        : McpErrors.event(failure, id(), requestId);
  }

  private boolean isRequest() {
    McpMessage sent = message;
    return sent != null && sent.kind() == MessageKind.REQUEST;
  }

  private String id() {
    return isRequest() ? Objects.requireNonNull(message).id() : McpMessage.NO_ID;
  }

  // --- ending ---

  /**
   * Ends a stream of a draining instance, since its client can open another elsewhere. Checks the
   * session of a waiting request whose replica is closed.
   */
  @Override
  void sweep(long now) {
    super.sweep(now);
    if (!isOver() && kind != null && kind.isStream() && loop.ingress.draining()) {
      abort(503);
    }
    RoutedCall waiting = routed;
    if (!isOver()
        && waiting != null
        && !waiting.sent()
        && isClosed(call())
        && now - checkAtNanos >= 0) {
      checkAtNanos = now + CHECK_NANOS;
      send(McpCall.CLOSED, "", this::endIfLost);
    }
  }

  /**
   * Handles the loss of the client. A call of a session continues, unless it still waits for a
   * slot. A call that its client could resume has limited time.
   */
  @Override
  void clientGone() {
    if (routed == null || !routed.sent()) {
      http.headers().remove(DISCONNECT_DISABLED);
    }
    super.clientGone();
    ResponseEvents passed = passing;
    if (is(ExchangeState.DETACHED)
        && pinned != null
        && isRequest()
        && passed != null
        && passed.sawIds()) {
      loop.after(
          Math.max(1, TimeUnit.NANOSECONDS.toMillis(rules.resumeNanos())),
          () -> {
            if (is(ExchangeState.DETACHED)) {
              cancelAtUpstream();
            }
          });
    }
  }

  @Override
  public void onFailure(BerthException failure) {
    if (failure.kind() == BerthException.Kind.REPLICA_UNAVAILABLE && is(ExchangeState.CALLING)) {
      try {
        pin(call());
      } catch (DialectProblem lost) {
        refuse(lost);
        return;
      }
    }
    boolean runsOn =
        failure.kind() == BerthException.Kind.TIMEOUT
            && !isOver()
            && isRequest()
            && routed != null
            && routed.sent();
    super.onFailure(failure);
    if (runsOn) {
      cancelAtUpstream();
    }
  }

  /** Sends {@code notifications/cancelled}. The slot is free when the upstream ends the call. */
  private void cancelAtUpstream() {
    String notification =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
            + id()
            + ",\"reason\":\"the client has left\"}}";
    send(McpCall.cancel(), notification, ignored -> {});
  }

  /** Sends a message of Berth to the upstream of the session, if there is a session. */
  private void send(McpCall call, String body, Consumer<@Nullable DialectProblem> result) {
    DeploymentRouter router = route.router();
    RoutedReplica only = pinned;
    if (router == null || only == null || revision != McpRevision.SESSIONS) {
      return;
    }
    MultiMap headers = MultiMap.caseInsensitiveMultiMap().addAll(http.headers());
    headers.set(CALL, call.header());
    Request request =
        Request.of(
            "POST",
            http.path(),
            null,
            new ReceivedHeaders(headers),
            new Request.Body.Whole(Buffer.buffer(body)));
    OwnMessage observer = new OwnMessage(requestId, loop.now(), result);
    RoutedCall.start(router, loop.router, request, observer, only, true);
  }

  /** Ends the wait of a request whose session is lost. */
  private void endIfLost(@Nullable DialectProblem problem) {
    RoutedCall waiting = Objects.requireNonNull(routed);
    if (problem != null && !isOver() && !waiting.sent()) {
      refuse(problem);
      waiting.cancel();
    }
  }

  /**
   * Observer of a message of Berth.
   *
   * @param result receives the problem that the replica has found, or null for a response
   */
  private record OwnMessage(
      String requestId, long arrivedNanos, Consumer<@Nullable DialectProblem> result)
      implements CallObserver {
    @Override
    public long deadlineNanos() {
      return arrivedNanos + MAX_MESSAGE_NANOS;
    }

    @Override
    public void onResponse(Response response, String replicaId) {
      StreamRelay.cancel(response);
      result.accept(McpErrors.ofReplica(response.headers().get(McpCall.HEADER)));
    }

    @Override
    public void onFailure(BerthException failure) {}
  }
}
