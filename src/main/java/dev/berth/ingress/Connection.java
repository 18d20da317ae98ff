package dev.berth.ingress;

import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;

/**
 * One client connection: which requests are under way on it, and what the end of one of them means
 * for it. Confined to its loop.
 */
abstract sealed class Connection implements Handler<Void> permits Http1Connection, Http2Connection {
  private final IngressLoop loop;
  private final HttpConnection http;

  Connection(IngressLoop loop, HttpConnection http) {
    this.loop = loop;
    this.http = http;
  }

  final IngressLoop loop() {
    return loop;
  }

  final HttpConnection http() {
    return http;
  }

  final void close() {
    http.close();
  }

  /** The connection is closed, by whomever: so is what was under way on it. */
  @Override
  public final void handle(Void closed) {
    loop.closed(this);
    clientGone();
  }

  /** Whether a request is one of several, and its failure is not the connection's. */
  abstract boolean multiplexed();

  /** A request has come. */
  abstract void began(Exchange exchange);

  /** A request is over, answered or not. */
  abstract void ended(Exchange exchange, long now);

  abstract void clientGone();

  /** Ends what stands still. */
  abstract void sweep(long now);

  /** The answer that is being written is the last one here. */
  abstract void announceClose(HttpServerResponse answer);

  /** The instance drains from now on. */
  abstract void drain();

  /** An answer is being written while the instance drains: the client may not come back here. */
  abstract void announceDrain(HttpServerResponse answer);

  /**
   * An answer was written whole, perhaps before the request was read whole.
   *
   * @param bytes the most of its body that may still be here
   * @param written completes when it is on its way
   */
  abstract void answered(HttpServerRequest request, long bytes, Future<Void> written);

  /** Ends a request whose answer cannot be ended, so that it does not look whole. */
  abstract void cut(HttpServerRequest request);

  /** What is left of a request's body is not read: it is dropped as it comes. */
  abstract void unread(HttpServerRequest request);

  /** Closes it soon: time for the client to read an answer that came before it had sent all. */
  abstract void linger(long untilNanos);
}
