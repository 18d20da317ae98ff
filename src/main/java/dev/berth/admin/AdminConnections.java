package dev.berth.admin;

import dev.berth.metrics.Meters;
import dev.berth.net.http.RefusedRequest;
import dev.berth.net.http.RequestDecoder;
import dev.berth.net.http.StreamHeads;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.timeout.IdleStateEvent;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.impl.HttpServerConnection;
import io.vertx.ext.web.RoutingContext;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The open connections of an admin server, bounded by their number. At the limit a new connection
 * replaces the one that has had no request for longest, so that silent clients keep nobody out.
 * Confined to the server's event loop.
 *
 * <pre>
 *   accepted --no whole head within 10 s--> dropped
 *   used     --a later head not whole 10 s after its first byte, HTTP/1--> dropped
 *   silent   --longest of all, and a new connection at the limit--> dropped
 *   any      --nothing moves for 60 s, unless an answer is due--> dropped
 * </pre>
 */
final class AdminConnections {
  /**
   * Limits of one server.
   *
   * @param connections the maximum; more than 256 operators, scrapers or nodes are an attack
   * @param headMs from the accept until the first head is whole, and from the first byte of a later
   *     one, milliseconds; late by at most a tenth
   * @param idleMs without anything in either direction, milliseconds
   */
  record Limits(int connections, long headMs, int idleMs) {
    static final Limits DEFAULT = new Limits(256, 10_000, 60_000);
  }

  private static final int SWEEPS = 10; // in the time of a head

  private final Limits limits;
  private final Set<Open> silent = new LinkedHashSet<>(); // longest first
  private final LongAdder ended = new LongAdder();
  private volatile int connections; // written by the event loop

  AdminConnections(Limits limits) {
    this.limits = limits;
  }

  /** Shows its numbers, and ends connections whose heads are late from now on. */
  void start(Vertx vertx, Meters meters, String series) {
    vertx.setPeriodic(limits.headMs / SWEEPS, sweep -> List.copyOf(silent).forEach(Open::sweep));
    meters.addGauge(series + "_connections", () -> connections);
    meters.addGauge(series + "_connections_limit", limits::connections);
    meters.addCounter(series + "_connections_ended", ended::sum);
  }

  /**
   * A connection was accepted, and its protocol is known.
   *
   * @param maxHeaderBytes the limit of a request's head, for HTTP/2
   */
  void opened(HttpConnection http, int maxHeaderBytes) {
    ChannelHandlerContext context = ((HttpServerConnection) http).channelHandlerContext();
    boolean streams = http.getWindowSize() >= 0; // as Vert.x shows that this is HTTP/2
    Open made =
        new Open(context.channel(), streams ? StreamHeads.install(context, maxHeaderBytes) : null);
    silent.add(made);
    if (++connections > limits.connections) {
      silent.iterator().next().end(); // itself, if all others have requests
    }
    made.channel.pipeline().addAfter("idle", null, made); // Vert.x's
    http.closeHandler(
        closed -> {
          connections--;
          silent.remove(made);
        });
  }

  /** The head of a request is whole; its connection is silent again when it is answered. */
  void began(RoutingContext context) {
    HttpServerConnection http = (HttpServerConnection) context.request().connection();
    Open on = http.channelHandlerContext().pipeline().get(Open.class);
    if (on == null) {
      return; // closed, with requests that were read before
    }
    RefusedRequest refused = on.heads == null ? null : on.heads.refusal();
    if (refused != null) {
      refused.tell(context.request());
      throw AdminRefusal.of(refused);
    }
    HttpServerResponse response = context.response();
    silent.remove(on);
    on.used = true;
    on.due.add(response);
    context.addEndHandler(
        over -> {
          on.due.remove(response);
          if (on.due.isEmpty() && on.channel.isOpen()) {
            on.sweeps = 0;
            silent.add(on);
          }
        });
    context.next();
  }

  /** One connection. Behind Vert.x's idle handler it decides about its events in Vert.x's place. */
  private final class Open extends ChannelInboundHandlerAdapter {
    private final Channel channel;
    private final @Nullable StreamHeads heads; // null for HTTP/1
    private final List<HttpServerResponse> due = new ArrayList<>(1);
    private boolean used;
    private int sweeps; // since its next head began, or had to begin

    Open(Channel channel, @Nullable StreamHeads heads) {
      this.channel = channel;
      this.heads = heads;
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext from, @Nullable Object event) {
      if (!(event instanceof IdleStateEvent)) {
        from.fireUserEventTriggered(event);
      } else if (!isDue()) {
        drop();
      }
    }

    /** Whether the time that passes is the server's: the client has all that was written. */
    private boolean isDue() {
      ChannelOutboundBuffer out = channel.unsafe().outboundBuffer();
      return due.stream().anyMatch(each -> !each.headWritten())
          && (out == null || out.totalPendingWriteBytes() == 0);
    }

    /** Ends it if a head is late: the first one, or a later one that has begun. */
    void sweep() {
      RequestDecoder decoder = channel.pipeline().get(RequestDecoder.class);
      if (used && (decoder == null || !decoder.isInHead())) {
        sweeps = 0;
      } else if (++sweeps > SWEEPS) {
        end();
      }
    }

    void end() {
      ended.increment();
      silent.remove(this);
      drop();
    }

    /** Past the handlers: they would wait for a client that reads nothing. */
    private void drop() {
      channel.unsafe().close(channel.unsafe().voidPromise());
    }
  }
}
