package dev.berth.ingress;

import dev.berth.net.http.RefusedRequest;
import dev.berth.protocol.port.HttpErrorResponse;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * First handler of a connection, before TLS. Observes incoming bytes, so that slow request heads
 * are detected.
 *
 * <pre>
 *   ACCEPTED --protocol known, HTTP/1--> OPEN: notifies its {@link Http1Connection} of bytes
 *            --protocol known, HTTP/2--> removed
 *            --not known within header_read_timeout_s--> closed
 * </pre>
 *
 * Confined to the event loop.
 */
final class SlowHeaderGuard extends ChannelInboundHandlerAdapter implements LongConsumer {
  private final ServingLoop loop;
  private @Nullable ChannelHandlerContext channel;
  private @Nullable Http1Connection connection;
  private long acceptedNanos;
  private boolean heard;
  private boolean over;

  /**
   * @param loop of the event loop that will serve the connection
   */
  SlowHeaderGuard(ServingLoop loop) {
    this.loop = loop;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) {
    channel = added;
    acceptedNanos = loop.now();
    assert loop.router.isHere();
    loop.sweeps.need();
    loop.unopened.add(this);
  }

  /** Called when the connection is known to use HTTP/1. */
  void onHttp1Detected(Http1Connection known) {
    loop.unopened.remove(this);
    connection = known;
  }

  @Override
  public void channelRead(ChannelHandlerContext from, Object message) {
    if (over) {
      ReferenceCountUtil.release(message);
      return;
    }
    if (connection != null) {
      connection.onBytes();
    } else {
      heard = true;
    }
    from.fireChannelRead(message);
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext from) {
    Http1Connection known = connection;
    if (known != null && from.channel().isWritable()) {
      loop.later(known::onWritable); // after Vert.x has written its own queue
    }
    from.fireChannelWritabilityChanged();
  }

  /**
   * Ignores resets by the client: the transport closes the connection next, which is handled.
   * Vert.x 5.0 fails on a reset while a pipelined request waits, and Netty then logs two warnings.
   * A malformed body gets a response; Vert.x would close without one.
   */
  @Override
  public void exceptionCaught(ChannelHandlerContext from, Throwable cause) {
    Http1Connection known = connection;
    boolean answered =
        known != null
            && cause instanceof RefusedRequest refused
            && refused.ofBody
            && known.bodyRefused(refused);
    if (!answered && !(cause instanceof IOException)) {
      from.fireExceptionCaught(cause);
    }
  }

  /** Called when the connection is closed, or uses HTTP/2. */
  @Override
  public void handlerRemoved(ChannelHandlerContext removed) {
    loop.unopened.remove(this);
  }

  /** Checks in each sweep whether the protocol became known in time. */
  @Override
  public void accept(long now) {
    if (now - acceptedNanos >= loop.headerReadNanos) {
      loop.unopened.remove(this);
      end(heard);
    }
  }

  /**
   * Closes the connection.
   *
   * @param say whether to send 408, because a head has begun and is incomplete
   */
  void end(boolean say) {
    ChannelHandlerContext context = channel;
    if (context == null || over) {
      return;
    }
    over = true;
    // Without an encoder, HTTP/1 is not certain: a handshake, or the start of HTTP/2.
    if (say && context.pipeline().get(HttpResponseEncoder.class) != null) {
      loop.ingress.lateHeads.increment();
      context.channel().writeAndFlush(answer()).addListener(ChannelFutureListener.CLOSE);
    } else {
      context.channel().close();
    }
  }

  /** Creates the response. It bypasses Vert.x, which has no request yet. */
  private DefaultFullHttpResponse answer() {
    HttpErrorResponse late = ErrorResponses.headTooSlow(loop.headerReadNanos);
    DefaultFullHttpResponse response =
        new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1,
            HttpResponseStatus.valueOf(late.status()),
            Unpooled.copiedBuffer(late.message(), StandardCharsets.UTF_8));
    response
        .headers()
        .set(HttpHeaderNames.CONTENT_TYPE, ErrorResponses.TEXT)
        .set(HttpHeaderNames.CONTENT_LENGTH, response.content().readableBytes())
        .set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
    return response;
  }
}
