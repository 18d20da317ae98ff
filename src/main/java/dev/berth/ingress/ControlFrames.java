package dev.berth.ingress;

import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameListener;
import io.netty.handler.codec.http2.Http2FrameListenerDecorator;
import io.netty.handler.codec.http2.Http2Settings;
import java.util.function.LongSupplier;

/**
 * Counts the frames of an HTTP/2 connection that ask for work and carry no request: SETTINGS, PING
 * and PRIORITY. Of resets Netty does it. Confined to the connection's loop.
 */
final class ControlFrames extends Http2FrameListenerDecorator {
  private final int most;
  private final long windowNanos;
  private final LongSupplier clock;
  private long sinceNanos;
  private int count;

  /**
   * @param most within a window; at one more the connection is closed
   */
  ControlFrames(Http2FrameListener listener, int most, long windowNanos, LongSupplier clock) {
    super(listener);
    this.most = most;
    this.windowNanos = windowNanos;
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
