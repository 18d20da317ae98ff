package dev.berth.ingress.limit;

import dev.berth.config.LimitOptions;
import dev.berth.config.keys.Settings;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameListener;
import io.netty.handler.codec.http2.Http2FrameListenerDecorator;
import io.netty.handler.codec.http2.Http2Settings;
import java.util.function.LongSupplier;

/**
 * Counter of HTTP/2 frames that cost work and carry no request: SETTINGS, PING and their
 * acknowledgements, and PRIORITY. Netty counts resets. WINDOW_UPDATE is not counted, since a client
 * that downloads much sends many. Confined to the event loop.
 */
public final class ControlFrameLimiter extends Http2FrameListenerDecorator {
  private final int most; // per window; one more closes the connection
  private final long windowNanos;
  private final LongSupplier clock;
  private long sinceNanos;
  private int count;

  public ControlFrameLimiter(Http2FrameListener listener, Settings limits, LongSupplier clock) {
    super(listener);
    this.most = limits.get(LimitOptions.HTTP2_MAX_CONTROL_FRAMES);
    this.windowNanos = limits.get(LimitOptions.HTTP2_RESET_WINDOW_S).toNanos();
    this.clock = clock;
    this.sinceNanos = clock.getAsLong();
  }

  private void count() throws Http2Exception {
    long now = clock.getAsLong();
    if (now - sinceNanos >= windowNanos) {
      sinceNanos = now;
      count = 0;
    }
    if (++count > most) {
      throw Http2Exception.connectionError(
          Http2Error.ENHANCE_YOUR_CALM, "over %d control frames", most);
    }
  }

  @Override
  public void onSettingsRead(ChannelHandlerContext context, Http2Settings settings)
      throws Http2Exception {
    count();
    super.onSettingsRead(context, settings);
  }

  @Override
  public void onSettingsAckRead(ChannelHandlerContext context) throws Http2Exception {
    count();
    super.onSettingsAckRead(context);
  }

  @Override
  public void onPingAckRead(ChannelHandlerContext context, long data) throws Http2Exception {
    count();
    super.onPingAckRead(context, data);
  }

  @Override
  public void onPingRead(ChannelHandlerContext context, long data) throws Http2Exception {
    count();
    super.onPingRead(context, data);
  }

  @Override
  public void onPriorityRead(
      ChannelHandlerContext context, int stream, int dependsOn, short weight, boolean exclusive)
      throws Http2Exception {
    count();
    super.onPriorityRead(context, stream, dependsOn, weight, exclusive);
  }
}
