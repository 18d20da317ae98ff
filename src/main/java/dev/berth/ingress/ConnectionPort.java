package dev.berth.ingress;

import io.vertx.core.Future;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;

/**
 * The client connection of a request, as the request and its answer use it: memory for the request,
 * and the effect of an answer and of its end on the connection. A class and no interface, so that
 * its fields and its own methods cost a request no virtual call. Confined to its loop.
 */
abstract class ConnectionPort {
  final ServingLoop loop;
  final boolean multiplexed; // a request is one of several, and its failure not the connection's
  private long roomHeld; // by its requests, bytes

  ConnectionPort(ServingLoop loop, boolean multiplexed) {
    this.loop = loop;
    this.multiplexed = multiplexed;
  }

  /** Takes room for a request of it; {@link #giveRoom} is its counterpart. */
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

  /** Whether the client may send more of the requests, as far as the connection goes. */
  boolean letsSend() {
    return true;
  }

  /** The answer that is being written is the last one here. */
  void announceClose(HttpServerResponse answer) {} // with HTTP/2's ends nothing but its stream

  /** An answer is being written while the instance drains: the client may not come back here. */
  void announceDrain(HttpServerResponse answer) {
    announceClose(answer);
  }

  /**
   * An answer was written whole, perhaps before the request was read whole.
   *
   * @param written completes when the socket has taken it
   */
  void answered(HttpServerRequest request, Future<Void> written) {} // HTTP/1 drops what still comes

  /** What is left of a request's body is not read: it is dropped as it comes. */
  void unread(HttpServerRequest request) {} // HTTP/2's frames are their stream's

  /** Whether what is left of a request's body is dropped by {@link #unread}. */
  boolean isUnread(HttpServerRequest request) {
    return false;
  }

  /** Closes it soon: time for the client to read an answer that came before it had sent all. */
  void linger(long untilNanos) {} // of HTTP/2's only the stream ends, once it is answered

  /** Closes it when its client has taken what was written. */
  void closeWhenTaken() {} // of HTTP/2's only the stream ends

  /** Returns a count that grows, or begins anew, as the socket takes some of a request's answer. */
  abstract long progress(HttpServerRequest request);

  /** Ends a request whose answer cannot be ended, so that it does not look whole. */
  abstract void cut(HttpServerRequest request);

  /** A request is over, answered or not. */
  abstract void ended(Exchange exchange, long now);

  /** All of an answer is out, or will never be: its request is no longer under way. */
  void left(Exchange exchange) {} // HTTP/2's stays until its stream is closed
}
