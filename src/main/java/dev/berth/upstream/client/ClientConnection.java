package dev.berth.upstream.client;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** A connection of a client, and the end of its channel. Confined to the event loop. */
@ChannelHandler.Sharable // by the channels of the addresses that it tries one after another
abstract sealed class ClientConnection extends ChannelInboundHandlerAdapter
    permits UpstreamConnection, StreamLink {
  /** Maximum time without an exchange. Longer, and the server's own close could meet a request. */
  static final long IDLE_NANOS = TimeUnit.MILLISECONDS.toNanos(1500);

  final UpstreamClient client;
  final ContextInternal loop;
  final UpstreamTarget target;
  final boolean probe; // or refused: outside the limit of exchanges
  @Nullable Channel channel; // null until the name is resolved
  boolean open;
  boolean closeNotified; // TLS alert of an orderly end
  @Nullable Throwable fault;
  private boolean outputShut; // then the TLS handler takes any record for a close by the peer
  private boolean closed;

  ClientConnection(
      UpstreamClient client, ContextInternal loop, UpstreamTarget target, boolean probe) {
    this.client = client;
    this.loop = loop;
    this.target = target;
    this.probe = probe;
  }

  // --- exchanges ---

  /**
   * Starts an exchange.
   *
   * @param request null for a mere connect
   * @param whole the complete body; null if the body is streamed
   * @throws IllegalArgumentException if a part of the head has an illegal character
   */
  abstract UpstreamExchange start(
      @Nullable UpstreamRequest request, @Nullable Buffer whole, ExchangeListener listener);

  /** Continues an exchange that waits for a connection. */
  abstract void adopt(StreamCarrier waiting);

  /** Returns whether another exchange may start. */
  abstract boolean hasRoom();

  /** Returns whether the connection has no exchange. */
  abstract boolean isEmpty();

  /** Accepts no further exchange, and closes after the last one. */
  abstract void retire();

  /** Resets the connection without waiting for the peer, and cancels its exchanges. */
  abstract void resetNow();

  /** Resets the connection, and fails its exchanges. */
  abstract void fail(@Nullable String reason);

  abstract long deadline();

  abstract void onDeadline();

  // --- opening ---

  @Override
  public final void handlerAdded(ChannelHandlerContext added) {
    channel = added.channel();
  }

  @Override
  public final void channelActive(ChannelHandlerContext from) {
    if (target.tls() == null) {
      loop.dispatch(here -> onConnected(null));
    }
  }

  @Override
  public final void userEventTriggered(ChannelHandlerContext from, Object event) {
    if (event instanceof SslHandshakeCompletionEvent done && done.isSuccess()) {
      String protocol = from.pipeline().get(SslHandler.class).applicationProtocol();
      loop.dispatch(here -> onConnected(protocol));
    } else if (event instanceof SslHandshakeCompletionEvent failed) {
      loop.dispatch(here -> fail("TLS: " + failed.cause().getMessage()));
    } else if (event instanceof SslCloseCompletionEvent end && end.isSuccess() && !outputShut) {
      closeNotified = true;
      loop.dispatch(here -> onInputEnd());
    }
  }

  /**
   * Handles the open channel, after the TLS handshake.
   *
   * @param protocol selected by ALPN; null for none
   */
  abstract void onConnected(@Nullable String protocol);

  // --- end ---

  @Override
  public final void exceptionCaught(ChannelHandlerContext from, Throwable cause) {
    if (fault == null) {
      fault = cause;
    }
    if (!(cause instanceof IOException) || cause instanceof SSLException) { // else Netty closes
      loop.dispatch(here -> fail(Objects.toString(cause.getMessage(), cause.toString())));
    }
  }

  @Override
  public final void channelInactive(ChannelHandlerContext from) {
    loop.dispatch(here -> onInputEnd());
  }

  /** Handles the end of the peer's output. */
  abstract void onInputEnd();

  /** Returns the reason of a close by the peer. */
  String endReason() {
    String reason = (open ? "response" : "connect") + ": closed by the upstream";
    return fault == null ? reason : reason + ": " + fault.getMessage();
  }

  /** Returns whether the end confirms cancellations; a lost route confirms nothing. */
  boolean isEndConfirming() {
    String text = fault == null ? "" : Objects.toString(fault.getMessage(), "");
    return fault == null || text.contains("onnection reset") || text.contains("roken pipe");
  }

  /** Shuts the output down. */
  void shutOutput() {
    outputShut = true;
    endTls();
    ((DuplexChannel) Objects.requireNonNull(channel)).shutdownOutput();
  }

  /** Sends a close_notify under TLS. */
  private void endTls() {
    SslHandler tls = channel == null ? null : channel.pipeline().get(SslHandler.class);
    if (tls != null) {
      tls.closeOutbound();
    }
  }

  /** Closes the connection, under TLS after a close_notify. */
  final void close() {
    close(false);
  }

  final void reset() {
    close(true);
  }

  /**
   * Closes the channel at the front of the pipeline: the TLS handler would wait for the peer's
   * close_notify.
   */
  private void close(boolean reset) {
    if (closed) {
      return;
    }
    closed = true;
    client.onClosed(this);
    onClose();
    if (!reset) {
      endTls();
    } else if (channel != null && channel.isActive()) {
      channel.config().setOption(ChannelOption.SO_LINGER, 0);
    }
    ChannelHandlerContext front = channel == null ? null : channel.pipeline().firstContext();
    if (front != null) { // else not connected, or already closed
      front.close();
    }
  }

  void onClose() {}

  /** Leaves the channel to another connection. */
  final void surrender() {
    closed = true;
    client.onClosed(this);
  }

  final boolean isClosed() {
    return closed;
  }

  final boolean isActive() {
    return !closed && channel != null && channel.isActive();
  }
}
