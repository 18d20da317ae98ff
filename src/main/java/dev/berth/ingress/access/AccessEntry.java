package dev.berth.ingress.access;

import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * One request for the access log; there is none when it is off. The loop writes it until it is
 * handed over, then nobody does. It holds no headers, no query and no body, so no secret of a
 * client gets into the log.
 */
public final class AccessEntry {
  final AccessRoute route;
  final long arrivedMillis; // of the epoch
  final String method;
  final String path;
  final String protocol;
  final String peer;
  final String requestId;
  private final long arrivedNanos;
  private long calledNanos;
  private long routedNanos;
  private boolean called;

  // Once it is over.
  String replica = "";
  Outcome outcome = Outcome.ANSWERED;
  int status;
  long bytesIn; // of the body
  long bytesOut;
  long queueNanos = -1; // never called
  long handlerNanos = -1; // never had a replica
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
    this.arrivedMillis = route.log().nowMillis();
    this.method = method;
    this.path = path;
    this.protocol = protocol;
    this.peer = peer;
    this.requestId = requestId;
    this.arrivedNanos = now;
  }

  /** A request that has come, if its route is logged. */
  public static @Nullable AccessEntry of(
      @Nullable AccessRoute route, HttpServerRequest http, String requestId, long now) {
    if (route == null) {
      return null;
    }
    String path = http.path();
    return new AccessEntry(
        route,
        http.method().name(),
        path == null ? "" : TokenInPath.hidden(path),
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

  /** It was handed to the router. */
  public void called(long now) {
    called = true;
    calledNanos = now;
  }

  /** It has a replica: its wait is over. */
  public void routed(String replicaId, long now) {
    replica = replicaId;
    routedNanos = now;
  }

  /** Why it has no ordinary answer; the first reason stays. */
  public void outcome(Outcome reason) {
    if (outcome == Outcome.ANSWERED) {
      outcome = reason;
    }
  }

  /** It is over: nothing of it changes after this. */
  public void ended(int finalStatus, long bodyBytesIn, long bodyBytesOut, long now) {
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
    route.log().offer(this);
  }
}
