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
 * An HTTP/1 connection, which has at most one request under way.
 *
 * <pre>
 *   IDLE --bytes--> HEAD --whole--> BUSY --answered--> IDLE
 *   IDLE --too long--> closed
 *   HEAD --not whole in time--> 408, closed
 *   BUSY --client gone--> closed; its request is given up
 *   IDLE --answered without reading the body--> LINGERING --body ended, or 2 s--> closed
 * </pre>
 */
final class Http1Connection extends Connection {
  private static final CharSequence CLOSE = HttpHeaders.createOptimized("close");

  private final HeadWatch watch;
  private @Nullable Exchange exchange;
  private @Nullable HttpServerRequest unread; // answered; the rest of its body is dropped
  private @Nullable HttpServerRequest behind; // an answer that is not taken
  private final ArrayDeque<Exchange> leaving = new ArrayDeque<>(2); // answered, not all taken
  private boolean headBegun;
  private boolean headTimed;
  private long headSinceNanos;
  private boolean lingering;
  private long lingerUntilNanos;

  Http1Connection(ServingLoop loop, HttpConnection http, HeadWatch watch) {
    super(loop, http, false);
    this.watch = watch;
  }

  @Override
  void began(Exchange begun) {
    exchange = begun;
    headBegun = false;
    unread = null;
  }

  /**
   * A request that came before its client has taken the answer to the one before is handled then,
   * so that of a client that asks again and again and never reads one answer is kept.
   */
  @Override
  boolean admits(HttpServerRequest request) {
    if (channel.isWritable()) { // less than 64 KiB wait for its socket
      return true;
    }
    if (BodyReader.isAnnounced(request.headers())) { // it would be lost by then
      loop.refuse(request, ErrorResponses.TOO_MANY_REQUESTS);
    } else {
      behind = request;
    }
    return false;
  }

  /** What was written has been taken, by and large. */
  void taken() {
    HttpServerRequest next = behind;
    if (next != null && channel.isWritable()) {
      behind = null;
      loop.handle(next);
    }
  }

  /**
   * What came of a request's body is malformed, and so nothing more is read here.
   *
   * @return whether it is answered; else its answer is out already, and there is nothing to wait
   *     for
   */
  boolean bodyRefused(RefusedRequest why) {
    Exchange underWay = exchange;
    if (underWay == null || underWay.isOver() || underWay.http.response().ended()) {
      return false;
    }
    underWay.refuseBody(ErrorResponses.refused(underWay.http, why));
    return true;
  }

  /** Bytes have come. Between two requests they are those of the next one's head. */
  void heard() {
    if (exchange == null && !headBegun) {
      headBegun = true;
      headTimed = false; // the next sweep looks at the clock
    }
  }

  @Override
  void ended(Exchange over, long now) {
    if (exchange == over) { // else a pipelined one has begun as this one's answer was written
      exchange = null;
    }
    served(now);
    leaving.add(over);
  }

  @Override
  void left(Exchange over) {
    leaving.remove(over); // the first, as they were written
    over.giveRoom();
  }

  @Override
  void clientGone() {
    if (exchange != null) {
      exchange.clientGone();
    }
    List.copyOf(leaving).forEach(Exchange::left);
  }

  @Override
  void waiting(List<Stalled<ClientAnswer>> into) {
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
    leaving.forEach(answered -> answered.answer.look(now)); // the connection sees that they leave
    Exchange underWay = exchange;
    if (underWay != null) {
      underWay.sweep(now);
    } else if (lingering) {
      if (now - lingerUntilNanos >= 0) {
        close();
      }
    } else if (awaitsClient()) {
      notIdle(now); // it is not idle that reads a long answer slowly
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
      close(); // its client did not say how much comes
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
  void cut(HttpServerRequest request) {
    if (request.version() == HttpVersion.HTTP_1_0) {
      drop(); // an ordinary end of the connection would be that of the answer
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
