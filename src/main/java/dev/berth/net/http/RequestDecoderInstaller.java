package dev.berth.net.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.impl.Http1xOrH2CHandler;
import org.jspecify.annotations.Nullable;

/**
 * Installs a {@link RequestDecoder} on a connection without TLS, before Vert.x's own decoder reads
 * a line. Vert.x detects HTTP/1 or HTTP/2 from the first bytes, installs its handlers, and reads on
 * in one step. For HTTP/1 it therefore first receives an empty line, which decoders skip before a
 * request.
 *
 * <pre>
 *   WATCHING --more than a prefix of the HTTP/2 preface, or TLS--> removed
 * </pre>
 */
public final class RequestDecoderInstaller extends ChannelInboundHandlerAdapter {
  private static final ByteBuf PREFACE =
      Unpooled.unreleasableBuffer(Http2CodecUtil.connectionPrefaceBuf()).asReadOnly();
  private static final byte[] EMPTY_LINE = {'\r', '\n'};

  private final HttpServerOptions options;
  private final boolean upgrades;
  private @Nullable ByteBuf held; // a prefix of the preface

  /** Creates the handler with the parameters of {@link RequestDecoder#install}. */
  public RequestDecoderInstaller(HttpServerOptions options, boolean upgrades) {
    this.options = options;
    this.upgrades = upgrades;
  }

  @Override
  public void channelRead(ChannelHandlerContext from, Object message) {
    ChannelPipeline pipeline = from.pipeline();
    ByteBuf before = held;
    ByteBuf bytes =
        before == null ? (ByteBuf) message : Unpooled.wrappedBuffer(before, (ByteBuf) message);
    held = null;
    if (pipeline.get(Http1xOrH2CHandler.class) != null) {
      int length = Math.min(bytes.readableBytes(), PREFACE.readableBytes());
      boolean http2 = bytes.slice(bytes.readerIndex(), length).equals(PREFACE.slice(0, length));
      if (http2 && length < PREFACE.readableBytes()) {
        held = bytes;
        return;
      }
      if (!http2) {
        from.fireChannelRead(Unpooled.wrappedBuffer(EMPTY_LINE));
      }
    }
    RequestDecoder.install(pipeline, options, upgrades);
    pipeline.remove(this);
    from.fireChannelRead(bytes);
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext from) {
    if (held != null) {
      held.release();
    }
  }
}
