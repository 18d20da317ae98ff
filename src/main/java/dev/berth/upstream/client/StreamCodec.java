package dev.berth.upstream.client;

import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.AbstractHttp2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.DefaultHttp2Connection;
import io.netty.handler.codec.http2.DefaultHttp2LocalFlowController;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameListener;
import io.netty.handler.codec.http2.Http2Settings;
import io.vertx.core.internal.ContextInternal;
import org.jspecify.annotations.Nullable;

/** The frames of one connection of HTTP/2, by Netty's codec. Confined to the event loop. */
final class StreamCodec extends Http2ConnectionHandler {
  /**
   * Window of all streams of a connection, which is refilled whether or not streams are read. Some
   * servers send nothing while one stream has more to send than this window.
   */
  private static final int CONNECTION_WINDOW_BYTES = 1 << 30;

  private final StreamLink link;
  private final ContextInternal loop;

  private StreamCodec(
      StreamLink link,
      ContextInternal loop,
      Http2ConnectionDecoder decoder,
      Http2ConnectionEncoder encoder,
      Http2Settings settings) {
    super(decoder, encoder, settings);
    this.link = link;
    this.loop = loop;
  }

  /** Creates the codec of a connection, with the limits of Netty against floods. */
  static StreamCodec of(StreamLink link, ContextInternal loop, Http2FrameListener frames) {
    Http2Connection streams = new DefaultHttp2Connection(false, 0);
    float ratio = DefaultHttp2LocalFlowController.DEFAULT_WINDOW_UPDATE_RATIO;
    streams.local().flowController(new DefaultHttp2LocalFlowController(streams, ratio, true));
    Http2Settings settings =
        new Http2Settings()
            .pushEnabled(false)
            .initialWindowSize(link.target.http().windowBytes())
            .maxHeaderListSize(ResponseParser.MAX_HEAD_BYTES);
    return new CodecBuilder(link, loop).of(streams, frames, settings);
  }

  private static final class CodecBuilder
      extends AbstractHttp2ConnectionHandlerBuilder<StreamCodec, CodecBuilder> {
    private final StreamLink link;
    private final ContextInternal loop;

    CodecBuilder(StreamLink link, ContextInternal loop) {
      this.link = link;
      this.loop = loop;
    }

    StreamCodec of(Http2Connection streams, Http2FrameListener frames, Http2Settings settings) {
      connection(streams);
      frameListener(frames);
      initialSettings(settings);
      encoderEnforceMaxRstFramesPerWindow(0, 1); // each cancel resets a stream
      decoderEnforceMaxRstFramesPerWindow(0, 1);
      return build();
    }

    @Override
    protected StreamCodec build(
        Http2ConnectionDecoder decoder, Http2ConnectionEncoder encoder, Http2Settings settings) {
      return new StreamCodec(link, loop, decoder, encoder, settings);
    }
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) throws Exception {
    super.handlerAdded(added); // writes the preface
    decoder()
        .flowController()
        .incrementWindowSize(connection().connectionStream(), CONNECTION_WINDOW_BYTES);
    added.flush();
  }

  @Override
  public void channelRead(ChannelHandlerContext from, Object message) throws Exception {
    ContextInternal before = loop.beginDispatch();
    try {
      super.channelRead(from, message);
    } finally {
      loop.endDispatch(before);
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext from, Object event) {
    link.userEventTriggered(from, event);
  }

  @Override
  public void channelInactive(ChannelHandlerContext from) throws Exception {
    link.channelInactive(from);
    super.channelInactive(from);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext from, Throwable cause) throws Exception {
    if (cause instanceof Http2Exception) {
      super.exceptionCaught(from, cause);
    } else {
      link.exceptionCaught(from, cause);
    }
  }

  @Override
  protected void onStreamError(
      ChannelHandlerContext from,
      boolean outbound,
      Throwable cause,
      Http2Exception.StreamException error) {
    super.onStreamError(from, outbound, cause, error); // resets the stream
    if (!outbound) {
      link.onStreamError(error.streamId(), String.valueOf(error.getMessage()));
    }
  }

  @Override
  protected void onConnectionError(
      ChannelHandlerContext from,
      boolean outbound,
      Throwable cause,
      @Nullable Http2Exception error) {
    loop.dispatch(here -> link.onBroken(String.valueOf(cause.getMessage()), error));
  }
}
