package dev.berth.ingress.edge;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.CorruptedFrameException;
import io.netty.util.AttributeKey;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;

/**
 * Reads the PROXY header of a connection of a trusted proxy, before any other byte. Closes a
 * connection without one. Confined to the event loop.
 *
 * <pre>
 *   READING --header--> removed, after the client's delay
 *           --malformed, or the client's rate is exceeded--> closed
 * </pre>
 */
public final class ProxyPreface extends ByteToMessageDecoder {
  static final AttributeKey<InetSocketAddress> CLIENT = AttributeKey.valueOf("berth.proxied");

  private final ToLongFunction<InetSocketAddress> delay;
  private boolean over;

  /**
   * @param delay counts a connection of a client, and returns its delay in nanoseconds; negative to
   *     close it
   */
  public ProxyPreface(ToLongFunction<InetSocketAddress> delay) {
    this.delay = delay;
  }

  @Override
  protected void decode(ChannelHandlerContext from, ByteBuf in, List<Object> out) {
    if (over) {
      return; // the delay has not passed
    }
    ProxyHeader header;
    try {
      header = ProxyHeader.read(in);
    } catch (CorruptedFrameException malformed) {
      close(from, in);
      return;
    }
    if (header == null) {
      return;
    }
    over = true;
    in.skipBytes(header.length());
    InetSocketAddress client = header.client();
    from.channel().attr(CLIENT).set(client);
    long wait = client == null ? 0 : delay.applyAsLong(client);
    if (wait < 0) {
      close(from, in);
    } else if (wait == 0) {
      from.pipeline().remove(this);
    } else {
      from.channel().config().setAutoRead(false);
      from.executor().schedule(() -> goOn(from), wait, TimeUnit.NANOSECONDS);
    }
  }

  private void close(ChannelHandlerContext from, ByteBuf in) {
    over = true;
    in.skipBytes(in.readableBytes());
    from.close();
  }

  private void goOn(ChannelHandlerContext from) {
    if (!from.isRemoved()) {
      from.pipeline().remove(this);
      from.channel().config().setAutoRead(true);
    }
  }
}
