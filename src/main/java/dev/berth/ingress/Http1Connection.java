package dev.berth.ingress;

import dev.berth.net.http.RefusedRequest;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.HttpVersion;
import java.util.ArrayDeque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP/1 connection, which has at most one request in flight.
 *
 * <pre>
 *   IDLE --bytes--> HEAD --complete--> BUSY --response sent--> IDLE
 *   IDLE --keep-alive timeout--> closed
 *   HEAD --incomplete at the timeout--> 408, closed
 *   BUSY --client left--> closed; its request is cancelled
 *   IDLE --response sent without reading the body--> LINGERING --body ended, or 2 s--> closed
 * </pre>
 */
final class Http1Connection extends Connection {
  private static final CharSequence CLOSE = HttpHeaders.createOptimized("close");

  private final SlowHeaderGuard watch;
  private @Nullable HttpExchange exchange;
  private @Nullable HttpServerRequest unread; // has a response; the rest of its body is dropped
  private @Nullable HttpServerRequest behind; // waits until earlier responses are read
  private final ArrayDeque<HttpExchange> leaving = new ArrayDeque<>(2); // written, not all sent
  private boolean headBegun;
  private boolean headTimed;
  private long headSinceNanos;
  private boolean lingering;
  private long lingerUntilNanos;

  Http1Connection(ServingLoop loop, HttpConnection http, SlowHeaderGuard watch) {
    super(loop, http, false);
    this.watch = watch;
  }

  @Override
  void began(HttpExchange begun) {
    exchange = begun;
    headBegun = false;
    unread = null;
  }

  /**
   * Admits a request, or delays it until the client has read the previous response. A client that
   * sends requests and never reads thus occupies the memory of one response.
   */
  @Override
  boolean admits(HttpServerRequest request) {
    if (channel.isWritable()) { // less than 64 KiB wait for the socket
      return true;
    }
    if (BodyReader.isAnnounced(request.headers())) { // a delay would lose the body
      loop.refuse(request, ErrorResponses.TOO_MANY_REQUESTS);
    } else {
      behind = request;
    }
    return false;
  }

  /** Handles the delayed request, when most written bytes have left. */
  void onWritable() {
    HttpServerRequest next = behind;
    if (next != null && channel.isWritable()) {
      behind = null;
      loop.handle(next);
    }
  }

  /**
   * Refuses a request with a malformed body, after which nothing more is read.
   *
   * @return whether the refusal is sent; false if a response is already out
   */
  boolean bodyRefused(RefusedRequest why) {
    HttpExchange underWay = exchange;
    if (underWay == null || underWay.isOver() || underWay.http.response().ended()) {
      return false;
    }
    underWay.refuseBody(ErrorResponses.refusalOf(underWay.http, why));
    return true;
  }

  /** Called when bytes arrive. Between two requests they begin the next head. */
  void onBytes() {
    if (exchange == null && !headBegun) {
      headBegun = true;
      headTimed = false; // the next sweep reads the clock
    }
  }

  @Override
  void onExchangeFinished(HttpExchange over, long now) {
    if (exchange == over) { // else a pipelined request began while this response was written
      exchange = null;
    }
    served(now);
    leaving.add(over);
  }

  @Override
  void onExchangeLeft(HttpExchange over) {
    leaving.remove(over); // the head of the queue, as written
    over.giveRoom();
  }

  @Override
  void clientGone() {
    if (exchange != null) {
      exchange.clientGone();
    }
    List.copyOf(leaving).forEach(HttpExchange::onResponseLeft);
  }

  @Override
  void waiting(List<EvictableResponse<ClientResponse>> into) {
    leaving.forEach(answered -> answered.answer.waiting(into));
    if (exchange != null) {
      exchange.answer.waiting(into);
    }
  }

  @Override
  long progress(HttpServerRequest request) {
    return socketProgress();
  }

  @Override
  void sweepRequests(long now) {
    leaving.forEach(answered -> answered.answer.look(now)); // stalls of these close the connection
    HttpExchange underWay = exchange;
    if (underWay != null) {
      underWay.sweep(now);
    } else if (lingering) {
      if (now - lingerUntilNanos >= 0) {
        close();
      }
    } else if (awaitsClient()) {
      notIdle(now); // a slow reader of a long response is not idle
    } else if (unread != null) {
      sweepUnread(unread, now);
    } else if (headBegun) {
      sweepHead(now);
    } else {
      endIdle(now);
    }
  }

  private void sweepHead(long now) {
    if (!headTimed) {
      headTimed = true;
      headSinceNanos = now;
    } else if (now - headSinceNanos >= loop.headerReadNanos) {
      watch.end(true);
    }
  }

  private void sweepUnread(HttpServerRequest request, long now) {
    if (request.isEnded()) {
      unread = null;
      headBegun = false;
      notIdle(now);
    } else if (request.bytesRead() > BodyReader.MAX_DISCARDED_BYTES
        && !request.headers().contains(HttpHeaders.CONTENT_LENGTH)) {
      close(); // the client declared no length
    } else {
      endIdle(now);
    }
  }

  @Override
  void announceClose(HttpServerResponse answer) {
    answer.headers().set(HttpHeaders.CONNECTION, CLOSE);
  }

  @Override
  void closeWhenTaken() {
    http.close();
  }

  @Override
  void unread(HttpServerRequest request) {
    unread = request;
  }

  @Override
  boolean isUnread(HttpServerRequest request) {
    return unread == request;
  }

  @Override
  void abort(HttpServerRequest request) {
    if (request.version() == HttpVersion.HTTP_1_0) {
      drop(); // an orderly close would look like the response's end
    } else {
      close();
    }
  }

  @Override
  void linger(long untilNanos) {
    lingering = true;
    lingerUntilNanos = untilNanos;
  }
}
