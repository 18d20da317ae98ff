package dev.berth.ingress;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
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
abstract sealed class Connection implements Handler<Void> permits Http1Connection, Http2Connection {
  final IngressLoop loop;
  final HttpConnection http;
  final ChannelHandlerContext context;
  final Channel channel;
  final boolean multiplexed; // a request is one of several, and its failure not the connection's
  private @Nullable Object unwritten; // what the socket was to take next when it was last looked at
  private long unwrittenTaken; // of that, bytes
  private long movedNanos;
  private long roomHeld; // by its requests, bytes
  private boolean closing;
  private long idleSinceNanos; // while it has no request
  private boolean served;

  Connection(IngressLoop loop, HttpConnection http, boolean multiplexed, long now) {
    this.loop = loop;
    this.http = http;
    this.multiplexed = multiplexed;
    this.idleSinceNanos = now;
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

  /** Closes it when its client has taken what was written. */
  final void closeWhenTaken() {
    http.close();
  }

  /** By a reset, so that nothing is kept for it, here or in the kernel, and nothing looks whole. */
  final void drop() {
    if (!channel.isOpen()) {
      return;
    }
    channel.config().setOption(ChannelOption.SO_LINGER, 0);
    channel.unsafe().close(channel.unsafe().voidPromise()); // past the handlers, which would wait
  }

  /** Takes room for a request of it; {@link #giveRoom} is its counterpart. */
  final boolean tryTakeRoom(int bytes) {
    if (!loop.room().tryHold(bytes, multiplexed ? roomHeld : 0)) {
      loop.ingress.refusedRequests.increment();
      return false;
    }
    roomHeld += bytes;
    return true;
  }

  final void giveRoom(int bytes) {
    roomHeld -= bytes;
    loop.room().release(bytes);
  }

  /** Ends what stands still. */
  final void sweep(long now) {
    boolean dropped = closing || now - movedAt(now) >= loop.limits.streamIdleNanos();
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
    idleSinceNanos = now;
  }

  /** Closes it if nothing was asked for too long: the first request is awaited for less long. */
  final void endIdle(long now) {
    long keepAlive = loop.limits.keepAliveNanos();
    long most = served ? keepAlive : Math.min(keepAlive, loop.limits.headerReadNanos());
    if (now - idleSinceNanos >= most) {
      close();
    }
  }

  /** Whether little waits for its socket: less than Netty's high-water mark, 64 KiB. */
  final boolean isWritable() {
    return channel.isWritable();
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

  /** The connection is closed, by whomever: so is what was under way on it. */
  @Override
  public final void handle(Void closed) {
    loop.closed(this);
    clientGone();
  }

  /** Whether the client may send more of the requests, as far as the connection goes. */
  boolean letsSend() {
    return true;
  }

  /** A request has come. */
  abstract void began(Exchange exchange);

  /** A request is over, answered or not. */
  abstract void ended(Exchange exchange, long now);

  abstract void clientGone();

  /** All of an answer is out, or will never be: its request is no longer under way. */
  void left(Exchange exchange) {} // HTTP/2's stays until its stream is closed

  /** The answers here of which something waits for the client. */
  abstract void waiting(List<Stalled<ClientAnswer>> into);

  /** A count that grows, or begins anew, as the socket takes some of a request's answer. */
  abstract long progress(HttpServerRequest request);

  /** What the socket has taken of what it is to take next, in bytes. */
  final long socketProgress() {
    ChannelOutboundBuffer out = channel.unsafe().outboundBuffer();
    return out == null ? 0 : out.currentProgress();
  }

  /** Ends what stands still of its requests; also the connection, when it has none. */
  abstract void sweepRequests(long now);

  /** The answer that is being written is the last one here. */
  void announceClose(HttpServerResponse answer) {} // with HTTP/2's ends nothing but its stream

  /** The instance drains from now on. */
  void drain() {} // HTTP/1's next answer says so

  /** An answer is being written while the instance drains: the client may not come back here. */
  abstract void announceDrain(HttpServerResponse answer);

  /**
   * An answer was written whole, perhaps before the request was read whole.
   *
   * @param written completes when the socket has taken it
   */
  void answered(HttpServerRequest request, Future<Void> written) {} // HTTP/1 drops what still comes

  /** Ends a request whose answer cannot be ended, so that it does not look whole. */
  abstract void cut(HttpServerRequest request);

  /** What is left of a request's body is not read: it is dropped as it comes. */
  void unread(HttpServerRequest request) {} // HTTP/2's frames are their stream's

  /** Whether what is left of a request's body is dropped by {@link #unread}. */
  boolean isUnread(HttpServerRequest request) {
    return false;
  }

  /** Closes it soon: time for the client to read an answer that came before it had sent all. */
  void linger(long untilNanos) {} // of HTTP/2's only the stream ends, once it is answered
}
