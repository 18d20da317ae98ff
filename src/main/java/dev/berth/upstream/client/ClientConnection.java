package dev.berth.upstream.client;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.handler.ssl.SslHandler;
import io.vertx.core.buffer.Buffer;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A connection of a client. Confined to the event loop. */
sealed interface ClientConnection permits UpstreamConnection, StreamLink {
  /** Maximum time without an exchange. Longer, and the server's own close could meet a request. */
  long IDLE_NANOS = TimeUnit.MILLISECONDS.toNanos(1500);

  UpstreamTarget target();

  /** Returns whether the connection is outside the limit of exchanges. */
  boolean isProbe();

  /** Returns the handler that the opener adds to the pipeline. */
  ChannelHandler handler();

  /**
   * Starts an exchange.
   *
   * @param request null for a mere connect
   * @param whole the complete body; null if the body is streamed
   * @throws IllegalArgumentException if a part of the head has an illegal character
   */
  UpstreamExchange start(
      @Nullable UpstreamRequest request, @Nullable Buffer whole, ExchangeListener listener);

  /** Continues an exchange that waits for a connection. */
  void adopt(StreamCarrier waiting);

  /** Returns whether another exchange may start. */
  boolean hasRoom();

  /** Returns whether the connection has no exchange. */
  boolean isEmpty();

  boolean isClosed();

  /** Accepts no more exchanges, and closes after the last one. */
  void retire();

  void close();

  /** Resets the connection, and fails its exchanges. */
  void fail(@Nullable String reason);

  long deadline();

  void onDeadline();

  /**
   * Closes a channel at the front of its pipeline: the TLS handler would wait for the peer's
   * close_notify.
   *
   * @param channel null if not connected
   */
  static void close(@Nullable Channel channel, boolean reset) {
    if (channel == null) {
      return;
    }
    if (!reset) {
      endTls(channel);
    } else if (channel.isActive()) {
      channel.config().setOption(ChannelOption.SO_LINGER, 0);
    }
    if (channel.pipeline().firstContext() != null) { // else already closed
      channel.pipeline().firstContext().close();
    }
  }

  /** Sends a close_notify under TLS. */
  static void endTls(Channel channel) {
    SslHandler tls = channel.pipeline().get(SslHandler.class);
    if (tls != null) {
      tls.closeOutbound();
    }
  }
}
