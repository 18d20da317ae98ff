package dev.berth.admin;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import dev.berth.metrics.Meters;
import dev.berth.net.http.RefusedRequest;
import dev.berth.net.http.RequestDecoder;
import dev.berth.net.http.StreamHeads;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.timeout.IdleStateEvent;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.impl.HttpServerConnection;
import io.vertx.ext.web.RoutingContext;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The open connections of an admin server, limited in number. At the limit a new connection
 * replaces the connection with the longest time since its last request, so that silent clients
 * cannot exclude others. Confined to the server's event loop.
 *
 * <pre>
 *   accepted --no whole head within 10 s--> dropped
 *   used     --a later head not whole 10 s after its first byte, HTTP/1--> dropped
 *   silent   --longest of all, and a new connection at the limit--> dropped
 *   any      --no traffic for 60 s, unless a response is due--> dropped
 * </pre>
 */
final class AdminConnections {
  /**
   * Limits of one server.
   *
   * @param connections maximum of connections; more than 256 operators, scrapers or nodes are an
   *     attack
   * @param headMs maximum time in milliseconds from the accept to the whole first head, and from
   *     the first byte of a later head to its end. Late by at most a tenth.
   * @param idleMs maximum time without traffic in either direction, in milliseconds
   */
  record AdminConnectionLimits(int connections, long headMs, int idleMs) {
    static final AdminConnectionLimits DEFAULT = new AdminConnectionLimits(256, 10_000, 60_000);
  }

  private static final int SWEEPS = 10; // within headMs

  private final AdminConnectionLimits limits;
  private final Set<AdminConnection> silent = new LinkedHashSet<>(); // longest silence first
  private final LongAdder ended = new LongAdder();
  private volatile int connections; // written by the event loop

  AdminConnections(AdminConnectionLimits limits) {
    this.limits = limits;
  }

  /** Registers the metrics. */
  void start(Meters meters, String series) {
    meters.add(into -> into.gauge(series + "_connections", connections, limits.connections()));
    meters.addCounter(series + "_connections_ended", ended::sum);
  }

  /**
   * Adds an accepted connection whose protocol is known.
   *
   * @param maxHeaderBytes limit of a request's head, for HTTP/2
   */
  void onOpened(HttpConnection http, int maxHeaderBytes) {
    ChannelHandlerContext context = ((HttpServerConnection) http).channelHandlerContext();
    boolean streams = http.getWindowSize() >= 0; // true for HTTP/2 in Vert.x
    AdminConnection made =
        new AdminConnection(
            context.channel(), streams ? StreamHeads.install(context, maxHeaderBytes) : null);
    silent.add(made);
    if (++connections > limits.connections) {
      silent.iterator().next().end(); // the new one, if all others have requests
    }
    made.channel.pipeline().addAfter("idle", null, made); // name of Vert.x's handler
    long period = limits.headMs / SWEEPS;
    ScheduledFuture<?> sweeps =
        made.channel.eventLoop().scheduleAtFixedRate(made::sweep, period, period, MILLISECONDS);
    http.closeHandler(
        closed -> {
          sweeps.cancel(false);
          connections--;
          silent.remove(made);
        });
  }

  /** Handles a request whose head is whole. The connection is silent again after the response. */
  void onRequestHead(RoutingContext context) {
    HttpServerConnection http = (HttpServerConnection) context.request().connection();
    AdminConnection on = http.channelHandlerContext().pipeline().get(AdminConnection.class);
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

  /**
   * A connection. Placed after Vert.x's idle handler, it handles the idle events in place of
   * Vert.x.
   */
  private final class AdminConnection extends ChannelInboundHandlerAdapter {
    private final Channel channel;
    private final @Nullable StreamHeads heads; // null for HTTP/1
    private final List<HttpServerResponse> due = new ArrayList<>(1);
    private boolean used;
    private int sweeps; // since its next head began, or was due

    AdminConnection(Channel channel, @Nullable StreamHeads heads) {
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

    /**
     * Returns whether the server causes the delay: a response is due, and the client has read all
     * bytes.
     */
    private boolean isDue() {
      ChannelOutboundBuffer out = channel.unsafe().outboundBuffer();
      return due.stream().anyMatch(each -> !each.headWritten())
          && (out == null || out.totalPendingWriteBytes() == 0);
    }

    /** Ends the connection if a head is late: the first one, or a later one that has begun. */
    void sweep() {
      RequestDecoder decoder = channel.pipeline().get(RequestDecoder.class);
      if (!silent.contains(this)) {
        return; // a response is due
      }
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

    private void drop() {
      AdminConnections.drop(channel);
    }
  }

  /** Closes a channel directly: its handlers would wait for a client that reads nothing. */
  static void drop(Channel channel) {
    channel.unsafe().close(channel.unsafe().voidPromise());
  }
}
