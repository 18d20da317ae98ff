package dev.berth.ingress;

import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.flush.FlushConsolidationHandler;
import io.vertx.core.Future;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * An HTTP/2 connection: its streams are requests side by side, and each ends alone.
 *
 * <pre>
 *   a stream:  OPEN --request over, all sent--> closed
 *              OPEN --reset by the client--> closed; its request is given up
 *              OPEN --request over, client does not read--> reset after stream_idle_timeout_s
 *   the connection:  no streams for too long --GOAWAY--> closed
 *                    draining --GOAWAY, streams end--> closed
 * </pre>
 *
 * A stream counts until it is closed and not only until its request is over, since what the client
 * has not read yet is kept for it.
 */
final class Http2Connection extends Connection {
  // RFC 9113, section 7.
  private static final long NO_ERROR = 0;
  private static final long INTERNAL_ERROR = 2;
  private static final long REFUSED_STREAM = 7;
  private static final long ENHANCE_YOUR_CALM = 11;

  /** The most that is kept of one answer: a full write queue, or a whole body. */
  private static final int MAX_KEPT_BYTES = 128 << 10;

  /** What an answer costs beside its body: its request is here as long as it is. */
  private static final int KEPT_STREAM_BYTES = RequestRoom.REQUEST_BYTES;

  /** A GOAWAY that excludes no stream: those that come before the client has read it are served. */
  private static final int LAST_STREAM_OPEN = Integer.MAX_VALUE;

  /** Flushes that may wait for the end of a run of the loop. */
  private static final int MAX_TOGETHER = 256;

  private final int maxStreams;
  private final Set<Exchange> streams = new HashSet<>();
  private final Map<HttpServerRequest, Integer> unread = new HashMap<>(); // bytes charged for each
  private long idleSinceNanos;
  private boolean served;
  private boolean saidGoAway;

  Http2Connection(IngressLoop loop, HttpConnection http, long now, int maxStreams) {
    super(loop, http);
    this.maxStreams = maxStreams;
    this.idleSinceNanos = now;
  }

  /**
   * Has what is written in one run of the loop leave in one write to the socket. Answers come after
   * the read that brought their requests, so that each would be flushed by itself: a system call
   * for each stream of a connection.
   */
  static void flushTogether(ChannelHandlerContext http2) {
    http2
        .pipeline()
        .addBefore(
            http2.name(), "flush-together", new FlushConsolidationHandler(MAX_TOGETHER, true));
  }

  @Override
  boolean multiplexed() {
    return true;
  }

  /**
   * Whether one more stream may begin; if not it is refused, by a code that says it may be sent
   * again. Netty sees to that too, but only once the client has acknowledged the settings.
   */
  boolean admits(HttpServerRequest request) {
    if (streams.size() < maxStreams) {
      return true;
    }
    request.response().reset(REFUSED_STREAM);
    return false;
  }

  @Override
  void began(Exchange exchange) {
    streams.add(exchange);
    exchange.request().response().closeHandler(closed -> streamClosed(exchange));
  }

  private void streamClosed(Exchange exchange) {
    streams.remove(exchange);
    read(exchange.request());
    if (!exchange.request().response().ended()) { // else this is how its answer ended
      exchange.clientGone();
    }
    giveRoomIfOver(exchange);
    served = true;
    idleSinceNanos = loop().now();
  }

  @Override
  void ended(Exchange exchange, long now) {
    exchange.endedAt(now);
    if (!streams.contains(exchange)) {
      exchange.giveRoom(); // it went on without its client
    }
  }

  private static void giveRoomIfOver(Exchange exchange) {
    if (exchange.isOver()) { // else it goes on without its client
      exchange.giveRoom();
    }
  }

  @Override
  void clientGone() {
    List<Exchange> all = List.copyOf(streams);
    streams.clear();
    for (Exchange exchange : all) {
      exchange.clientGone();
      giveRoomIfOver(exchange);
    }
    unread.values().forEach(loop()::answerRead);
    unread.clear();
  }

  @Override
  void sweepRequests(long now) {
    if (!streams.isEmpty()) {
      // A copy, since ending a stream removes it.
      List.copyOf(streams).forEach(exchange -> exchange.sweep(now));
    } else if (now - idleSinceNanos >= loop().idleLimitNanos(served)) {
      close();
    }
  }

  /** Nothing ends with this answer but its stream. */
  @Override
  void announceClose(HttpServerResponse answer) {}

  @Override
  void drain() {
    goAway();
  }

  /** It came too late to be told when the others were. */
  @Override
  void announceDrain(HttpServerResponse answer) {
    goAway();
  }

  private void goAway() {
    if (!saidGoAway) {
      saidGoAway = true;
      http().goAway(NO_ERROR, LAST_STREAM_OPEN);
    }
  }

  /**
   * A client that is still sending its body is told that the rest is not wanted. What a client does
   * not read is kept for it, by its connection, up to what all clients together may leave unread.
   */
  @Override
  void answered(HttpServerRequest request, long bytes, Future<Void> written) {
    if (!written.isComplete()) {
      int kept = KEPT_STREAM_BYTES + (int) Math.min(MAX_KEPT_BYTES, bytes);
      if (!loop().tryKeepUnread(kept)) {
        request.response().reset(ENHANCE_YOUR_CALM);
        return;
      }
      unread.put(request, kept);
    }
    if (!request.isEnded()) {
      written.onComplete(
          // Later, since a request without a body is not seen to have ended in its first moment.
          sent -> loop().later(() -> request.response().reset(NO_ERROR)));
    }
  }

  private void read(HttpServerRequest request) {
    Integer bytes = unread.remove(request);
    if (bytes != null) {
      loop().answerRead(bytes);
    }
  }

  /** Its frames are its own. */
  @Override
  void unread(HttpServerRequest request) {}

  @Override
  void cut(HttpServerRequest request) {
    request.response().reset(INTERNAL_ERROR);
  }

  /** Not needed: {@link #answered} ends the stream. */
  @Override
  void linger(long untilNanos) {}
}
