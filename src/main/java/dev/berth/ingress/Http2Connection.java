package dev.berth.ingress;

import dev.berth.config.LimitOptions;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.limit.ControlFrameLimiter;
import dev.berth.net.http.RefusedRequest;
import dev.berth.net.http.StreamHeads;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.vertx.core.Future;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.net.HostAndPort;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * An HTTP/2 connection. Its streams are concurrent requests, and each ends on its own.
 *
 * <pre>
 *   a stream:  OPEN --request finished, all sent--> closed
 *              OPEN --reset by the client--> closed; its request is cancelled
 *              OPEN --request finished, client does not read--> reset after stream_idle_timeout_s
 *   the connection:  no streams for too long --GOAWAY--> closed
 *                    draining --GOAWAY, streams end--> closed
 * </pre>
 *
 * A stream counts until it is closed, not only until its request has finished, since unread bytes
 * of its response occupy memory.
 */
final class Http2Connection extends Connection {
  // RFC 9113, section 7.
  private static final long NO_ERROR = 0;
  private static final long INTERNAL_ERROR = 2;
  private static final long REFUSED_STREAM = 7;

  /**
   * Last stream id of a GOAWAY that excludes no stream. Requests sent before the client reads it
   * are served.
   */
  private static final int LAST_STREAM_OPEN = Integer.MAX_VALUE;

  private final int maxStreams;
  private final Set<HttpExchange> streams = new LinkedHashSet<>();
  private final Http2ConnectionHandler handler;
  private final StreamHeads heads;
  private final Http2WriteCoalescer outflow;
  private boolean saidGoAway;

  Http2Connection(ServingLoop loop, HttpConnection http) {
    super(loop, http, true);
    this.maxStreams = loop.ingress.settings.get(LimitOptions.HTTP2_MAX_STREAMS);
    this.handler = (Http2ConnectionHandler) context.handler();
    this.outflow =
        new Http2WriteCoalescer(
            () ->
                loop.ingress.cutFlood(
                    proxied == null ? channel.remoteAddress() : proxied.address()));
    Http2ConnectionDecoder decoder = handler.decoder();
    Settings settings = loop.ingress.settings;
    this.heads = StreamHeads.install(context, settings.get(LimitOptions.MAX_HEADER_BYTES));
    decoder.frameListener(new ControlFrameLimiter(heads, settings, loop::coarseNow));
    context.pipeline().addBefore(context.name(), "outflow", outflow);
  }

  /** Returns false while unread streams fill the connection's window. */
  @Override
  boolean letsSend() {
    var connection = handler.connection();
    return connection.local().flowController().windowSize(connection.connectionStream()) > 0;
  }

  /**
   * Refuses a stream above the limit with a code that permits a retry. Netty enforces the limit
   * too, but only after the client has acknowledged the settings.
   */
  @Override
  boolean admits(HttpServerRequest request) {
    if (streams.size() >= maxStreams) {
      request.response().reset(REFUSED_STREAM);
      return false;
    }
    RefusedRequest refused = heads.refusal();
    if (refused != null) {
      loop.refuse(request, ErrorResponses.refusalOf(request, refused));
      return false;
    }
    if (request.uri().length() > loop.ingress.heads.getMaxInitialLineLength()) {
      loop.refuse(request, ErrorResponses.uriTooLong());
      return false;
    }
    HostAndPort authority = request.authority();
    if (authority != null) { // handlers find the host where HTTP/1 has it
      request.headers().set(HttpHeaders.HOST, authority.toString());
    }
    return true;
  }

  @Override
  void began(HttpExchange exchange) {
    streams.add(exchange);
    exchange.http.response().closeHandler(closed -> streamClosed(exchange));
  }

  private void streamClosed(HttpExchange exchange) {
    streams.remove(exchange);
    outflow.forget(exchange.http.streamId());
    exchange.onResponseLeft();
    if (!exchange.http.response().ended()) { // else the response ended the stream
      exchange.clientGone();
    }
    if (exchange.isOver()) { // else it continues without its client
      exchange.giveRoom();
    }
    served(loop.now());
  }

  @Override
  void onExchangeFinished(HttpExchange exchange, long now) {
    exchange.answer.endedNanos = now;
    if (!streams.contains(exchange)) {
      exchange.giveRoom(); // it continued without its client
    }
  }

  @Override
  void waiting(List<EvictableResponse<ClientResponse>> into) {
    streams.forEach(exchange -> exchange.answer.waiting(into));
  }

  @Override
  long progress(HttpServerRequest request) {
    return outflow.sent(request.streamId());
  }

  @Override
  void clientGone() {
    List.copyOf(streams).forEach(this::streamClosed);
  }

  @Override
  void sweepRequests(long now) {
    if (!streams.isEmpty()) {
      // A copy, since ending a stream removes it.
      List.copyOf(streams).forEach(exchange -> exchange.sweep(now));
    } else {
      endIdle(now);
    }
  }

  /** Sends GOAWAY on a connection that opened after the others got theirs. */
  @Override
  void announceDrain(HttpServerResponse answer) {
    drain();
  }

  @Override
  void drain() {
    if (!saidGoAway) {
      saidGoAway = true;
      http.goAway(NO_ERROR, LAST_STREAM_OPEN);
    }
  }

  /**
   * Resets the stream after the response, so that a client which is still sending its body stops.
   */
  @Override
  void onResponseWritten(HttpServerRequest request, Future<Void> written) {
    if (!request.isEnded()) {
      written.onComplete(
          // Delayed, since the end of a request without a body is not visible at once.
          sent -> loop.later(() -> request.response().reset(NO_ERROR)));
    }
  }

  @Override
  void abort(HttpServerRequest request) {
    // Vert.x ignores a reset then, though the window may be closed
    if (request.response().ended()) {
      handler.resetStream(context, request.streamId(), INTERNAL_ERROR, context.newPromise());
      context.flush();
    } else {
      request.response().reset(INTERNAL_ERROR);
    }
  }
}
