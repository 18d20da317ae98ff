package dev.berth.ingress;

import dev.berth.ingress.edge.ProxiedPeer;
import dev.berth.protocol.RequestOrigin;
import io.netty.channel.Channel;
import io.vertx.core.Future;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.impl.HttpServerConnection;
import org.jspecify.annotations.Nullable;

/**
 * View of a client connection for a request and its response: memory for the request, and the
 * connection effects of a response and of its end. A class rather than an interface, so that its
 * fields and final methods cost no virtual call per request. Confined to the event loop.
 */
abstract class ConnectionPort {
  final ServingLoop loop;
  final boolean multiplexed; // whether requests share the connection, which outlives a failed one
  final @Nullable ProxiedPeer proxied; // null unless a trusted proxy opened the connection
  private final RequestOrigin direct; // of the connection
  private long roomHeld; // bytes of its requests

  ConnectionPort(ServingLoop loop, boolean multiplexed, HttpConnection http) {
    Channel channel = ((HttpServerConnection) http).channelHandlerContext().channel();
    this.loop = loop;
    this.proxied = ProxiedPeer.of(channel, loop.ingress.proxies);
    this.direct = ProxiedPeer.direct(channel, http.isSsl());
    this.multiplexed = multiplexed;
  }

  /** Returns the origin of a request: without a trusted proxy, the same object for all. */
  final RequestOrigin originOf(HttpServerRequest request) {
    return proxied == null ? direct : ProxiedPeer.originIn(request.headers());
  }

  /** Acquires memory for a request. The counterpart is {@link #giveRoom}. */
  final boolean tryTakeRoom(int bytes) {
    if (!loop.room.tryHold(bytes, multiplexed ? roomHeld : 0)) {
      loop.ingress.refusedRequests.increment();
      return false;
    }
    roomHeld += bytes;
    return true;
  }

  final void giveRoom(int bytes) {
    roomHeld -= bytes;
    loop.room.release(bytes);
  }

  /** Returns whether the connection's flow control lets the client send request bodies. */
  boolean letsSend() {
    return true;
  }

  /** Announces in a response that it is the last one of this connection. */
  void announceClose(HttpServerResponse answer) {} // HTTP/2 ends only the stream

  /**
   * Announces in a response that the instance drains: the client should not reuse the connection.
   */
  void announceDrain(HttpServerResponse answer) {
    announceClose(answer);
  }

  /**
   * Called when a response is written, perhaps before the request was read.
   *
   * @param written completes when the socket has taken the response
   */
  // HTTP/1 drops the rest of the body
  void onResponseWritten(HttpServerRequest request, Future<Void> written) {}

  /** Drops the unread rest of a request body as it arrives. */
  void unread(HttpServerRequest request) {} // HTTP/2 drops frames with their stream

  /** Returns whether {@link #unread} drops the rest of a request body. */
  boolean isUnread(HttpServerRequest request) {
    return false;
  }

  /** Schedules the close, so that the client has time to read an early response. */
  void linger(long untilNanos) {} // HTTP/2 ends only the stream, after the response

  /** Closes the connection when the client has received all written bytes. */
  void closeWhenTaken() {} // HTTP/2 ends only the stream

  /**
   * Returns a count that increases, or restarts, when the socket takes bytes of a request's
   * response.
   */
  abstract long progress(HttpServerRequest request);

  /** Aborts a response that has no proper end, so that it does not look complete. */
  abstract void abort(HttpServerRequest request);

  /** Called when a request has finished, with or without a response. */
  abstract void onExchangeFinished(HttpExchange exchange, long now);

  /**
   * Called when a whole response has been sent, or never will be. Its request is no longer in
   * flight.
   */
  void onExchangeLeft(
      HttpExchange exchange) {} // an HTTP/2 request stays until its stream is closed
}
