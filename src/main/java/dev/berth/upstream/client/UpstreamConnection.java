package dev.berth.upstream.client;

import dev.berth.api.Headers;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * A connection of HTTP/1.1, which has at most one exchange. Confined to the event loop.
 *
 * <pre>
 *   OPENING --connected, TLS established--> BUSY --response ended, reusable--> IDLE --send--> BUSY
 *   BUSY --response ended, not reusable--> closed
 *   BUSY --cancel--> output shut --closed by the peer, or grace time over--> closed
 *   IDLE --1.5 s, the server's Keep-Alive - 1 s, or bytes--> closed
 * </pre>
 */
final class UpstreamConnection extends ChannelInboundHandlerAdapter
    implements ClientConnection, ExchangeCarrier, ResponseParser.ResponseSink {
  private final UpstreamTarget target;
  private final boolean probe; // or refused: outside the limit of exchanges
  private final UpstreamClient client;
  private final ContextInternal loop;
  private final ResponseParser parser = new ResponseParser(this);
  private final Handler<UpstreamExchange> ending = this::endExchange;
  private @Nullable ChannelHandlerContext channel; // null until the name is resolved
  private @Nullable UpstreamExchange exchange;
  private boolean open;
  private boolean closed;
  private boolean excess; // bytes after a response
  private boolean unreadable; // the response of a cancelled exchange is malformed
  private boolean closeNotified; // TLS alert of an orderly end
  private @Nullable Throwable fault;
  private @Nullable ByteBuf waiting; // for the channel
  private int unwritten; // writes that the socket has not accepted
  private long sinceNanos; // last progress
  private long idleNanos; // maximum time in IDLE

  UpstreamConnection(
      UpstreamClient client, ContextInternal loop, UpstreamTarget target, boolean probe) {
    this.client = client;
    this.loop = loop;
    this.target = target;
    this.probe = probe;
  }

  @Override
  public UpstreamExchange start(
      @Nullable UpstreamRequest request, @Nullable Buffer whole, ExchangeListener listener) {
    ByteBuf bytes = request == null ? null : client.encode(request, whole);
    boolean streamed = request != null && whole == null;
    long length = streamed ? request.bodyLength() : 0;
    return begin(new UpstreamExchange(loop, this, listener, length, !streamed), request, bytes);
  }

  /**
   * Gives the head and a whole body to the channel, as soon as it is open.
   *
   * @param bytes null for a mere connect
   */
  private UpstreamExchange begin(
      UpstreamExchange begun, @Nullable UpstreamRequest request, @Nullable ByteBuf bytes) {
    exchange = begun;
    if (request != null && bytes != null) {
      parser.begin(request.method().equals("HEAD"));
      if (isUsable()) {
        write(bytes);
      } else {
        waiting = bytes;
      }
    }
    touch();
    return begun;
  }

  @Override
  public void adopt(StreamCarrier moved) {
    UpstreamRequest request = moved.request;
    ByteBuf bytes = request == null ? null : client.encode(request, moved.whole);
    moved.exchange.moveTo(this);
    begin(moved.exchange, request, bytes);
    if (open) {
      moved.exchange.onOpen();
    }
  }

  // --- opening ---

  @Override
  public void handlerAdded(ChannelHandlerContext added) {
    channel = added;
  }

  @Override
  public void channelActive(ChannelHandlerContext from) {
    if (target.tls() == null) {
      loop.dispatch(here -> onOpen());
    }
  }

  /** Handles the complete connection, after the TLS handshake. */
  void onOpen() {
    open = true;
    ByteBuf bytes = waiting;
    waiting = null;
    if (bytes != null) {
      write(bytes);
    }
    UpstreamExchange opened = exchange;
    if (opened != null) {
      opened.onOpen();
      if (parser.isDone()) { // a probe that merely connects
        endExchange(opened);
      }
    }
    touch();
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext from, Object event) {
    if (event instanceof SslHandshakeCompletionEvent done && done.isSuccess()) {
      loop.dispatch(here -> onOpen());
    } else if (event instanceof SslHandshakeCompletionEvent failed) {
      loop.dispatch(here -> fail("TLS: " + failed.cause().getMessage()));
    } else if (event instanceof SslCloseCompletionEvent end && end.isSuccess()) {
      closeNotified = true;
      loop.dispatch(here -> onInputEnd());
    }
  }

  // --- writing ---

  @Override
  public Future<Void> write(@Nullable Buffer piece, boolean chunked) {
    if (piece != null) {
      return write(RequestEncoder.piece(client.memory, piece, chunked));
    }
    return chunked ? write(RequestEncoder.lastChunk(client.memory)) : loop.succeededFuture();
  }

  /** Writes bytes to the open channel. */
  private Future<Void> write(ByteBuf bytes) {
    ChannelFuture given = Objects.requireNonNull(channel).writeAndFlush(bytes);
    if (given.isSuccess()) {
      return loop.succeededFuture();
    }
    Promise<Void> accepted = loop.promise();
    unwritten++;
    given.addListener(
        done -> {
          unwritten--;
          if (done.isSuccess()) {
            touch();
            accepted.complete();
          } else {
            accepted.fail(done.cause());
            failLater("request: not written: " + done.cause().getMessage());
          }
        });
    return accepted.future();
  }

  @Override
  public boolean hasUnwritten() {
    return unwritten > 0;
  }

  /** Shuts the output down. The response is still read, to its end. */
  @Override
  public void stop() {
    Channel connected = Objects.requireNonNull(channel).channel();
    ClientConnection.endTls(connected);
    ((DuplexChannel) connected).shutdownOutput();
    read(true);
  }

  // --- reading ---

  @Override
  public void read(boolean on) {
    if (open && channel != null) { // a handshake is never paused
      channel.channel().config().setAutoRead(on);
      touch();
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext from, Object message) {
    ByteBuf in = (ByteBuf) message;
    ContextInternal before = loop.beginDispatch();
    try {
      if (exchange == null) {
        reset(); // these bytes answer no request
      } else if (!unreadable) {
        parser.parse(in);
        excess |= in.isReadable();
      }
    } catch (MalformedResponse malformed) {
      UpstreamExchange failed = exchange;
      String reason = String.valueOf(malformed.getMessage());
      if (failed != null && (failed.isCancelled() || failed.onUnusable(reason))) {
        unreadable = true; // the close may still confirm the cancellation
      } else {
        fail(reason);
      }
    } finally {
      loop.endDispatch(before);
      in.release();
    }
  }

  @Override
  public void onHead(int status, Headers headers) {
    if (exchange != null) {
      exchange.onHead(status, headers);
    }
  }

  @Override
  public void onPiece(Buffer piece) {
    if (exchange != null) {
      exchange.onPiece(piece);
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext from) {
    UpstreamExchange current = exchange;
    if (current != null && open && parser.isDone()) {
      loop.dispatch(current, ending);
    } else if (current != null && current.isReceiving()) { // a slow head is no progress
      touch();
    }
  }

  /** Ends an exchange with a complete response. */
  private void endExchange(UpstreamExchange ended) {
    exchange = null;
    long keptSeconds = parser.keepAliveSeconds() - 1L;
    if (isUsable()
        && !closeNotified
        && !excess
        && parser.isReusable()
        && keptSeconds > 0
        && ended.isSent()
        && !ended.isCancelled()) {
      idleNanos = Math.min(IDLE_NANOS, TimeUnit.SECONDS.toNanos(keptSeconds));
      read(true);
      client.onRoom(this);
    } else {
      close();
    }
    ended.onEnd();
  }

  // --- end ---

  @Override
  public void exceptionCaught(ChannelHandlerContext from, Throwable cause) {
    if (fault == null) {
      fault = cause;
    }
    if (!(cause instanceof IOException) || cause instanceof SSLException) { // else Netty closes
      loop.dispatch(here -> fail(Objects.toString(cause.getMessage(), cause.toString())));
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext from) {
    loop.dispatch(here -> onInputEnd());
  }

  private void onInputEnd() {
    UpstreamExchange ended = exchange;
    if (ended == null || !open) {
      fail("connect: closed by the upstream" + cause());
      return;
    }
    boolean orderly = fault == null && (target.tls() == null || closeNotified);
    boolean confirmed = ended.isCancelled() && (fault == null || isReset(fault));
    if (confirmed || parser.isDone() || (orderly && parser.endOfInput())) {
      endExchange(ended);
    } else {
      fail("response: closed by the upstream" + cause());
    }
  }

  private String cause() {
    return fault == null ? "" : ": " + fault.getMessage();
  }

  /** Returns whether the peer has reset the connection; a lost route confirms nothing. */
  static boolean isReset(Throwable fault) {
    String text = Objects.toString(fault.getMessage(), "");
    return text.contains("onnection reset") || text.contains("roken pipe");
  }

  @Override
  public void fail(@Nullable String reason) {
    UpstreamExchange failed = exchange;
    exchange = null;
    reset();
    if (failed != null) {
      failed.onFailed(Objects.toString(reason, "unknown"));
    }
  }

  @Override
  public void failLater(String reason) {
    UpstreamExchange failing = exchange;
    loop.runOnContext(
        here -> {
          if (failing != null && failing == exchange && !failing.isCancelled()) {
            fail(reason);
          }
        });
  }

  @Override
  public void abandon() {
    exchange = null;
    reset();
  }

  private void reset() {
    close(true);
  }

  /** Closes the connection, under TLS after a close_notify. */
  @Override
  public void close() {
    close(false);
  }

  private void close(boolean reset) {
    if (closed) {
      return;
    }
    closed = true;
    client.onClosed(this);
    ReferenceCountUtil.release(waiting);
    waiting = null;
    ClientConnection.close(channel == null ? null : channel.channel(), reset);
  }

  @Override
  public void retire() { // called without an exchange
    close();
  }

  @Override
  public void onOver() {
    client.onOver(this);
  }

  @Override
  public UpstreamTarget target() {
    return target;
  }

  @Override
  public boolean isProbe() {
    return probe;
  }

  @Override
  public ChannelHandler handler() {
    return this;
  }

  @Override
  public boolean hasRoom() {
    return isEmpty() && open && isUsable();
  }

  @Override
  public boolean isEmpty() {
    return exchange == null;
  }

  @Override
  public boolean isClosed() {
    return closed;
  }

  /** Returns whether the socket is open. */
  @Override
  public boolean isUsable() {
    return !closed && channel != null && channel.channel().isActive();
  }

  // --- deadlines ---

  @Override
  public long now() {
    return client.now();
  }

  @Override
  public void touch() {
    sinceNanos = client.now();
    client.arm(deadline());
  }

  @Override
  public long deadline() {
    UpstreamExchange current = exchange;
    return current == null
        ? sinceNanos + idleNanos
        : current.deadline(target.timeouts(), sinceNanos);
  }

  @Override
  public void onDeadline() {
    UpstreamExchange current = exchange;
    if (current == null) {
      close();
    } else if (!current.onUnusable(current.timeoutReason())) {
      fail(current.timeoutReason());
    }
  }
}
