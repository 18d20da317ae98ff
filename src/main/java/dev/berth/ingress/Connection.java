package dev.berth.ingress;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.impl.HttpServerConnection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One client connection: which requests are under way on it, and what the end of one of them means
 * for it. It is also the one door by which the ingress closes it: Vert.x sends what is unwritten
 * first, for which a client that does not read lets it wait for ever. Confined to its loop.
 *
 * <pre>
 *   OPEN --close, nothing unwritten--> CLOSING --closed, or the next sweep--> closed
 *   OPEN --close, or its socket took nothing for stream_idle_timeout_s--> dropped
 * </pre>
 */
abstract sealed class Connection extends ConnectionPort permits Http1Connection, Http2Connection {
  final HttpConnection http;
  final ChannelHandlerContext context;
  final Channel channel;
  private @Nullable Object unwritten; // what the socket was to take next when it was last looked at
  private long unwrittenTaken; // of that, bytes
  private long movedNanos;
  private boolean closing;
  private long idleSinceNanos; // while it has no request
  private boolean served;

  Connection(ServingLoop loop, HttpConnection http, boolean multiplexed) {
    super(loop, multiplexed);
    this.http = http;
    this.idleSinceNanos = loop.now();
    this.context = ((HttpServerConnection) http).channelHandlerContext();
    this.channel = context.channel();
  }

  /** Closes it now; what its client has not taken is dropped, and its writes fail. */
  final void close() {
    ChannelOutboundBuffer out = channel.unsafe().outboundBuffer();
    if (out != null && out.totalPendingWriteBytes() > 0) {
      drop();
    } else {
      closing = true; // by a GOAWAY and TLS's own farewell, if the client takes them
      http.close();
    }
  }

  /** By a reset, so that nothing is kept for it, here or in the kernel, and nothing looks whole. */
  final void drop() {
    if (!channel.isOpen()) {
      return;
    }
    channel.config().setOption(ChannelOption.SO_LINGER, 0);
    channel.unsafe().close(channel.unsafe().voidPromise()); // past the handlers, which would wait
  }

  /** Ends what stands still. */
  final void sweep(long now) {
    boolean dropped = closing || now - movedAt(now) >= loop.streamIdleNanos;
    if (!closing) {
      sweepRequests(now); // first: they know why they end
    }
    if (dropped) {
      drop();
    }
  }

  /** Something of a request has just gone on here. */
  final void notIdle(long now) {
    idleSinceNanos = now;
  }

  /** A request is over here, and the next one is awaited for as long as clients may keep it. */
  final void served(long now) {
    served = true;
    notIdle(now);
  }

  /** Closes it if nothing was asked for too long: the first request is awaited for less long. */
  final void endIdle(long now) {
    long keepAlive = loop.keepAliveNanos;
    long most = served ? keepAlive : Math.min(keepAlive, loop.headerReadNanos);
    if (now - idleSinceNanos >= most) {
      close();
    }
  }

  /** Whether its client had yet to take something when this was last swept. */
  final boolean awaitsClient() {
    return unwritten != null;
  }

  /** When its socket last took something, or nothing waited for it; as coarsely as this asks. */
  private long movedAt(long now) {
    ChannelOutboundBuffer out = channel.unsafe().outboundBuffer();
    Object next = out == null ? null : out.current();
    long taken = socketProgress();
    if (next == null || next != unwritten || taken != unwrittenTaken) {
      unwritten = next;
      unwrittenTaken = taken;
      movedNanos = now;
    }
    return movedNanos;
  }

  /**
   * Returns whether a request that has come goes on. Else the connection has refused it, or handles
   * it later.
   */
  abstract boolean admits(HttpServerRequest request);

  /** A request has come. */
  abstract void began(Exchange exchange);

  /** The connection is closed, by whomever: so is what was under way on it. */
  abstract void clientGone();

  /** The answers here of which something waits for the client. */
  abstract void waiting(List<Stalled<ClientAnswer>> into);

  /** What the socket has taken of what it is to take next, in bytes. */
  final long socketProgress() {
    ChannelOutboundBuffer out = channel.unsafe().outboundBuffer();
    return out == null ? 0 : out.currentProgress();
  }

  /** Ends what stands still of its requests; also the connection, when it has none. */
  abstract void sweepRequests(long now);

  /** The instance drains from now on. */
  void drain() {} // HTTP/1's next answer says so
}
