package dev.berth.ingress;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.MaxMessagesRecvByteBufAllocator;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.impl.HttpServerConnection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A client connection with its in-flight requests. Defines the effect of a request's end on the
 * connection.
 *
 * <pre>
 *   OPEN --close, no unwritten bytes--> CLOSING --closed, or the next sweep--> closed
 *   OPEN --close, or no socket progress for stream_idle_timeout_s--> dropped
 * </pre>
 *
 * The ingress closes connections only through this class: Vert.x alone would first send all
 * unwritten bytes, and wait forever for a client that does not read. Confined to the event loop.
 */
abstract sealed class Connection extends ConnectionPort permits Http1Connection, Http2Connection {
  /**
   * Socket reads of at most 64 KiB before other tasks of the loop run. A replica of this loop thus
   * accepts an upload, and takes its bytes, before the upload fills its window.
   */
  private static final int READS_PER_TURN = 4;

  final HttpConnection http;
  final ChannelHandlerContext context;
  final Channel channel;
  private @Nullable Object unwritten; // next message of the socket at the last sweep
  private long unwrittenTaken; // bytes of this message taken by the socket
  private long movedNanos;
  private boolean closing;
  private long idleSinceNanos; // while there is no request
  private boolean served;

  Connection(ServingLoop loop, HttpConnection http, boolean multiplexed) {
    super(loop, multiplexed, http);
    this.http = http;
    this.idleSinceNanos = loop.now();
    this.context = ((HttpServerConnection) http).channelHandlerContext();
    this.channel = context.channel();
    channel
        .config()
        .<MaxMessagesRecvByteBufAllocator>getRecvByteBufAllocator()
        .maxMessagesPerRead(READS_PER_TURN);
  }

  /** Closes the connection now. Unwritten bytes are dropped, and their writes fail. */
  final void close() {
    ChannelOutboundBuffer out = channel.unsafe().outboundBuffer();
    if (out != null && out.totalPendingWriteBytes() > 0) {
      drop();
    } else {
      closing = true; // sends GOAWAY and TLS close_notify, if the client reads them
      http.close();
    }
  }

  /**
   * Closes the connection by a reset. No bytes remain here or in the kernel, and no response looks
   * complete.
   */
  final void drop() {
    if (!channel.isOpen()) {
      return;
    }
    channel.config().setOption(ChannelOption.SO_LINGER, 0);
    // bypasses the handlers, which would wait
    channel.unsafe().close(channel.unsafe().voidPromise());
  }

  /** Ends stalled requests and a stalled connection. */
  final void sweep(long now) {
    boolean dropped = closing || now - movedAt(now) >= loop.streamIdleNanos;
    if (!closing) {
      sweepRequests(now); // first, so that they record why they end
    }
    if (dropped) {
      drop();
    }
  }

  /** Records progress of a request, which restarts the idle time. */
  final void notIdle(long now) {
    idleSinceNanos = now;
  }

  /** Records the end of a request. The client may keep the connection for the keep-alive time. */
  final void served(long now) {
    served = true;
    notIdle(now);
  }

  /**
   * Closes an idle connection after the keep-alive time. Before the first request, the header
   * timeout applies if it is shorter.
   */
  final void endIdle(long now) {
    long keepAlive = loop.keepAliveNanos;
    long most = served ? keepAlive : Math.min(keepAlive, loop.headerReadNanos);
    if (now - idleSinceNanos >= most) {
      close();
    }
  }

  /** Returns whether bytes waited for the client at the last sweep. */
  final boolean awaitsClient() {
    return unwritten != null;
  }

  /**
   * Returns the time when the socket last took bytes or had none to take, at the resolution of the
   * calls.
   */
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
   * Returns whether a received request may start. Otherwise the connection has refused it, or
   * handles it later.
   */
  abstract boolean admits(HttpServerRequest request);

  /** Adds a started request. */
  abstract void began(HttpExchange exchange);

  /** Called when the connection is closed by either side. Ends its in-flight requests. */
  abstract void clientGone();

  /** Adds the responses that have bytes waiting for the client. */
  abstract void waiting(List<EvictableResponse<ClientResponse>> into);

  /** Returns the bytes that the socket has taken of its next message. */
  final long socketProgress() {
    ChannelOutboundBuffer out = channel.unsafe().outboundBuffer();
    return out == null ? 0 : out.currentProgress();
  }

  /** Ends stalled requests, or an idle connection without requests. */
  abstract void sweepRequests(long now);

  /** Called when the instance starts to drain. */
  void drain() {} // HTTP/1 announces the close with its next response
}
