package dev.berth.ingress;

import io.vertx.core.Handler;
import io.vertx.core.http.HttpConnection;
import org.jspecify.annotations.Nullable;

/**
 * One client connection, and the request under way on it, of which HTTP/1.1 has at most one.
 *
 * <pre>
 *   IDLE --request--> BUSY --answered--> IDLE
 *   IDLE --too long--> closed
 *   BUSY --client gone--> closed; its request is given up
 *   IDLE --answered without reading the body--> LINGERING --body ended, or 2 s--> closed
 * </pre>
 *
 * Confined to its loop.
 */
final class Connection implements Handler<Void> {
  private final IngressLoop loop;
  private final HttpConnection http;
  private @Nullable Exchange exchange;
  private long idleSinceNanos;
  private boolean served;
  private boolean lingering;
  private long lingerUntilNanos;

  Connection(IngressLoop loop, HttpConnection http, long now) {
    this.loop = loop;
    this.http = http;
    this.idleSinceNanos = now;
  }

  HttpConnection http() {
    return http;
  }

  void began(Exchange begun) {
    exchange = begun;
  }

  void ended(long now) {
    exchange = null;
    served = true;
    idleSinceNanos = now;
  }

  /** Closes it soon: time for the client to read an answer that came before it had sent all. */
  void linger(long untilNanos) {
    lingering = true;
    lingerUntilNanos = untilNanos;
  }

  void close() {
    http.close();
  }

  /** The connection is closed, by whomever. */
  @Override
  public void handle(Void closed) {
    loop.closed(this);
    Exchange underWay = exchange;
    if (underWay != null) {
      underWay.clientGone();
    }
  }

  void sweep(long now) {
    Exchange underWay = exchange;
    if (underWay != null) {
      underWay.sweep(now);
    } else if (lingering) {
      if (now - lingerUntilNanos >= 0) {
        close();
      }
    } else if (now - idleSinceNanos >= loop.idleLimitNanos(served)) {
      close();
    }
  }
}
