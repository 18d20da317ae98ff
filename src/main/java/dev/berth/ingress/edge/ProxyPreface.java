package dev.berth.ingress.edge;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.CorruptedFrameException;
import io.netty.util.AttributeKey;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * Reads the PROXY header of a connection of a trusted proxy, before any other byte. Closes a
 * connection without one. Confined to the event loop.
 *
 * <pre>
 *   READING --header--> removed
 *           --malformed, or the client exceeds its rate--> closed
 * </pre>
 */
public final class ProxyPreface extends ByteToMessageDecoder {
  static final AttributeKey<InetSocketAddress> CLIENT = AttributeKey.valueOf("berth.proxied");

  private final ToLongFunction<InetSocketAddress> rate;

  /**
   * @param rate counts a connection of a client; negative to close it
   */
  public ProxyPreface(ToLongFunction<InetSocketAddress> rate) {
    this.rate = rate;
  }

  @Override
  protected void decode(ChannelHandlerContext from, ByteBuf in, List<Object> out) {
    try {
      ProxyHeader header = ProxyHeader.read(in);
      if (header == null) {
        return;
      }
      in.skipBytes(header.length());
      InetSocketAddress client = header.client();
      from.channel().attr(CLIENT).set(client);
      if (client == null || rate.applyAsLong(client) >= 0) {
        from.pipeline().remove(this);
        return;
      }
    } catch (CorruptedFrameException malformed) {
      // closed as one above the rate
    }
    in.skipBytes(in.readableBytes());
    from.close();
  }
}
