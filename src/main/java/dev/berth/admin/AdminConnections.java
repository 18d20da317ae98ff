package dev.berth.admin;

import dev.berth.metrics.Meters;
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
 *   silent   --longest of all, and a new connection at the limit--> dropped
 *   any      --nothing moves for 60 s, unless an answer is due--> dropped
 * </pre>
 */
final class AdminConnections {
  /**
   * Limits of one server.
   *
   * @param connections the maximum; more than 256 operators, scrapers or nodes are an attack
   * @param headMs from the accept until the first head is whole, milliseconds
   * @param idleMs without anything in either direction, milliseconds
   */
  record Limits(int connections, long headMs, int idleMs) {
    static final Limits DEFAULT = new Limits(256, 10_000, 60_000);
  }

  private final Limits limits;
  private final Set<Open> silent = new LinkedHashSet<>(); // longest first
  private final LongAdder ended = new LongAdder();
  private volatile int connections; // written by the event loop

  AdminConnections(Limits limits) {
    this.limits = limits;
  }

  /** Shows its numbers. */
  void show(Meters meters, String series) {
    meters.addGauge(series + "_connections", () -> connections);
    meters.addGauge(series + "_connections_limit", limits::connections);
    meters.addCounter(series + "_connections_ended", ended::sum);
  }

  /** A connection was accepted, and its protocol is known. */
  void opened(Vertx vertx, HttpConnection http) {
    Open made = new Open(channel(http));
    silent.add(made);
    if (++connections > limits.connections) {
      silent.iterator().next().end(); // itself, if all others have requests
    }
    made.channel.pipeline().addAfter("idle", null, made); // Vert.x's
    long timer = vertx.setTimer(limits.headMs, late -> made.endUnlessUsed());
    http.closeHandler(
        closed -> {
          connections--;
          silent.remove(made);
          vertx.cancelTimer(timer);
        });
  }

  /** The head of a request is whole; its connection is silent again when it is answered. */
  void began(RoutingContext context) {
    Open on = channel(context.request().connection()).pipeline().get(Open.class);
    HttpServerResponse response = context.response();
    silent.remove(on);
    on.used = true;
    on.due.add(response);
    context.addEndHandler(
        over -> {
          on.due.remove(response);
          if (on.due.isEmpty() && on.channel.isOpen()) {
            silent.add(on);
          }
        });
    context.next();
  }

  private static Channel channel(HttpConnection http) {
    return ((HttpServerConnection) http).channelHandlerContext().channel();
  }

  /** One connection. Behind Vert.x's idle handler it decides about its events in Vert.x's place. */
  private final class Open extends ChannelInboundHandlerAdapter {
    private final Channel channel;
    private final List<HttpServerResponse> due = new ArrayList<>(1);
    private boolean used;

    Open(Channel channel) {
      this.channel = channel;
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

    void endUnlessUsed() {
      if (!used) {
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
