package dev.berth.upstream.client;

import dev.berth.api.Headers;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
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
 * A connection of a client, which has at most one exchange. Confined to the event loop.
 *
 * <pre>
 *   OPENING --connected, TLS established--> BUSY --response ended, reusable--> IDLE --send--> BUSY
 *   BUSY --response ended, not reusable--> closed
 *   BUSY --cancel--> output shut --closed by the peer, or grace time over--> closed
 *   IDLE --1.5 s, the server's Keep-Alive - 1 s, or bytes--> closed
 * </pre>
 */
@ChannelHandler.Sharable // by the channels of the addresses that it tries one after another
final class UpstreamConnection extends ChannelInboundHandlerAdapter
    implements ResponseParser.ResponseSink {
  /** Maximum time without an exchange. Longer, and the server's own close could meet a request. */
  private static final long IDLE_NANOS = TimeUnit.MILLISECONDS.toNanos(1500);

  final UpstreamTarget target;
  final boolean probe; // or refused: outside the limit of connections
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

  /**
   * Starts an exchange.
   *
   * @param bytes head and whole body; null for a mere connect
   */
  UpstreamExchange start(
      UpstreamRequest request, @Nullable ByteBuf bytes, boolean whole, ExchangeListener listener) {
    UpstreamExchange begun =
        new UpstreamExchange(loop, this, listener, whole ? 0 : request.bodyLength(), whole);
    exchange = begun;
    if (bytes != null) {
      parser.begin(request.method().equals("HEAD"));
      begun.give(bytes);
    }
    touch();
    return begun;
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
  private void onOpen() {
    String refusal = client.refusal();
    if (refusal != null) {
      fail(refusal);
      return;
    }
    open = true;
    UpstreamExchange waiting = exchange;
    if (waiting != null) {
      waiting.onOpen();
      if (parser.isDone()) { // a probe that merely connects
        endExchange(waiting);
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

  ByteBufAllocator memory() {
    return client.memory;
  }

  /** Writes bytes to the open channel. */
  Future<Void> write(ByteBuf bytes) {
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

  boolean hasUnwritten() {
    return unwritten > 0;
  }

  /** Shuts the output down. The response is still read, to its end. */
  void shutOutput() {
    endTls();
    ((DuplexChannel) Objects.requireNonNull(channel).channel()).shutdownOutput();
    read(true);
  }

  // --- reading ---

  void read(boolean on) {
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
  public void onFields(int status, Headers fields) {
    if (exchange != null) {
      exchange.onFields(status, fields);
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
      client.onIdle(this);
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
  private static boolean isReset(Throwable fault) {
    String text = Objects.toString(fault.getMessage(), "");
    return text.contains("onnection reset") || text.contains("roken pipe");
  }

  /** Resets the connection, and ends its exchange. */
  void fail(@Nullable String reason) {
    UpstreamExchange failed = exchange;
    exchange = null;
    reset();
    if (failed != null) {
      failed.onFailed(Objects.toString(reason, "unknown"));
    }
  }

  /** Resets the connection without waiting for the peer, and cancels its exchange. */
  void resetNow() {
    if (exchange != null) {
      exchange.onReset();
    }
    fail(UpstreamClient.CLOSED);
  }

  /**
   * Resets the connection in a later event, unless the exchange has ended or is cancelled by then.
   */
  void failLater(String reason) {
    UpstreamExchange failing = exchange;
    loop.runOnContext(
        here -> {
          if (failing != null && failing == exchange && !failing.isCancelled()) {
            fail(reason);
          }
        });
  }

  /** Closes the connection of a cancelled exchange that has sent nothing. */
  void abandon() {
    exchange = null;
    reset();
  }

  private void reset() {
    if (isUsable()) {
      Objects.requireNonNull(channel).channel().config().setOption(ChannelOption.SO_LINGER, 0);
    }
    closeFront();
  }

  /** Closes the connection, under TLS after a close_notify. */
  void close() {
    if (!closed) {
      endTls();
      closeFront();
    }
  }

  private void endTls() {
    SslHandler tls = channel == null ? null : channel.pipeline().get(SslHandler.class);
    if (tls != null) {
      tls.closeOutbound();
    }
  }

  /**
   * Closes the channel at the front of the pipeline: the TLS handler would wait for the peer's
   * close_notify.
   */
  private void closeFront() {
    if (closed) {
      return;
    }
    closed = true;
    client.onClosed(this);
    ChannelHandlerContext front = channel == null ? null : channel.pipeline().firstContext();
    if (front != null) { // else not connected, or already closed
      front.close();
    }
  }

  boolean isComplete() {
    return parser.isDone();
  }

  boolean isClosed() {
    return closed;
  }

  /** Returns whether the socket of an idle connection is open. */
  boolean isUsable() {
    return !closed && channel != null && channel.channel().isActive();
  }

  // --- deadlines ---

  long now() {
    return client.now();
  }

  /** Records progress. */
  void touch() {
    sinceNanos = client.now();
    client.arm(deadline());
  }

  long deadline() {
    UpstreamExchange current = exchange;
    return current == null
        ? sinceNanos + idleNanos
        : current.deadline(target.timeouts(), sinceNanos);
  }

  void onDeadline() {
    UpstreamExchange current = exchange;
    if (current == null) {
      close();
    } else if (!current.onUnusable(current.timeoutReason())) {
      fail(current.timeoutReason());
    }
  }
}
