package dev.berth.ingress.access;

import dev.berth.protocol.RequestOrigin;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Access-log record of one request; absent if logging is off. The loop writes the fields until it
 * hands the record over; then they do not change. Contains no headers, query or body, so that no
 * client's secret reaches the log.
 */
public final class AccessEntry {
  AccessRoute route;
  final long arrivedMillis; // since the epoch
  final String method;
  final String path;
  final String protocol;
  final String peer;
  final String requestId;
  private final long arrivedNanos;
  private long calledNanos;
  private long routedNanos;
  private boolean called;
  private boolean logged = true;

  // Set at the end of the request.
  String replica = "";
  String routeLabel = ""; // with the template; empty for the prefix
  String model = ""; // of an LLM API
  String apiKey = ""; // id
  String mcpMethod = ""; // of a message of MCP
  String mcpTool = "";
  @Nullable RequestOrigin origin; // null unless a trusted proxy named it
  long tokensIn = -1; // -1: not stated
  long tokensOut = -1;
  AccessOutcome outcome = AccessOutcome.ANSWERED;
  int status;
  int cost = 1; // slots
  long bytesIn; // of the body
  long bytesOut;
  long queueNanos = -1; // -1: never called
  long handlerNanos = -1; // -1: never had a replica
  long totalNanos;

  AccessEntry(
      AccessRoute route,
      String method,
      String path,
      String protocol,
      String peer,
      String requestId,
      long now) {
    this.route = route;
    this.arrivedMillis = route.log().epochMillis.getAsLong();
    this.method = method;
    this.path = path;
    this.protocol = protocol;
    this.peer = peer;
    this.requestId = requestId;
    this.arrivedNanos = now;
  }

  /** Creates the record of a received request, if its route is logged. */
  public static @Nullable AccessEntry of(
      @Nullable AccessRoute route, HttpServerRequest http, String requestId, long now) {
    if (route == null) {
      return null;
    }
    String path = http.path();
    return new AccessEntry(
        route,
        http.method().name(),
        path == null ? "" : ReservationTokenRedactor.hidden(path),
        protocol(http),
        peer(http.remoteAddress()),
        requestId,
        now);
  }

  private static String protocol(HttpServerRequest http) {
    return switch (http.version()) {
      case HTTP_1_0 -> "HTTP/1.0";
      case HTTP_1_1 -> "HTTP/1.1";
      case HTTP_2 -> "HTTP/2";
    };
  }

  private static String peer(@Nullable SocketAddress address) {
    if (address == null) {
      return "";
    }
    String host = address.hostAddress();
    return host == null ? "" : host + ":" + address.port();
  }

  /** Records the origin of a request that came by trusted proxies. */
  public void origin(RequestOrigin named) {
    origin = named;
  }

  /** Records the call of the router. */
  public void called(long now) {
    called = true;
    calledNanos = now;
  }

  /** Records the number of slots that the request takes. */
  public void cost(int slots) {
    cost = slots;
  }

  /** Records the replica, which ends the wait. */
  public void routed(String replicaId, long now) {
    replica = replicaId;
    routedNanos = now;
  }

  /** Records the replica that ran the request, perhaps after others refused it. */
  public void answeredBy(String replicaId) {
    replica = replicaId;
  }

  /** Records the route with the template that the handler named. */
  public void route(String label) {
    routeLabel = label;
  }

  String route() {
    return routeLabel.isEmpty() ? route.route() : routeLabel;
  }

  /**
   * Records the model of a request to an LLM API, and the id of the client's key.
   *
   * @param selected settings of the model's deployment; null if its requests are not logged
   */
  public void model(@Nullable AccessRoute selected, String name, String keyId) {
    route = selected == null ? route : selected;
    logged = selected != null;
    model = name;
    apiKey = keyId;
  }

  /** Records the method of a message of MCP, and the tool that it calls; empty for none. */
  public void message(String jsonRpcMethod, String tool) {
    mcpMethod = jsonRpcMethod;
    mcpTool = tool;
  }

  /** Records the tokens that the response states; negative for none. */
  public void tokens(long in, long out) {
    tokensIn = in;
    tokensOut = out;
  }

  /** Records the reason for a missing regular response. Only the first reason counts. */
  public void outcome(AccessOutcome reason) {
    if (outcome == AccessOutcome.ANSWERED) {
      outcome = reason;
    }
  }

  /** Completes the record and hands it to the log. No field changes afterwards. */
  public void complete(int finalStatus, long bodyBytesIn, long bodyBytesOut, long now) {
    status = finalStatus;
    bytesIn = bodyBytesIn;
    bytesOut = bodyBytesOut;
    totalNanos = now - arrivedNanos;
    boolean routed = !replica.isEmpty();
    if (called) {
      queueNanos = (routed ? routedNanos : now) - calledNanos;
    }
    if (routed) {
      handlerNanos = now - routedNanos;
    }
    if (logged) {
      route.log().offer(this);
    }
  }
}
