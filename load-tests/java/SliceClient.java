import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A closed loop: one thread, which keeps the connections of many rows open and uses those of one
 * row at a time. A connection sends a request when the one before it was answered.
 */
final class SliceClient implements AutoCloseable {
  private static final int STREAMS = 8;
  private static final int CONNECTING_AT_ONCE = 256;
  private static final int MAX_FRAME = 1 << 20;

  private final EventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());
  private final EventLoop loop = group.next();
  private final byte[] bytes = new byte[64 * 1024];

  Connections open(Server server, Row row) throws IOException, InterruptedException {
    URI uri = server.uri(row.ask().path());
    boolean http2 = row.protocol() == Row.Protocol.HTTP_2;
    int count = http2 ? Math.max(1, row.connections() / STREAMS) : row.connections();
    ByteBuf request = Unpooled.unreleasableBuffer(Unpooled.copiedBuffer(row.ask().bytes(uri)));
    SslContext tls = null;
    if (server.certificate().isPresent()) {
      tls = trusting(server.certificate().get(), http2 ? "h2" : "http/1.1");
    }
    List<Line> lines = new ArrayList<>();
    List<Channel> channels = new ArrayList<>();
    Connections connections = new Connections(loop, channels, lines);
    try {
      while (channels.size() < count) {
        List<ChannelFuture> connecting = new ArrayList<>();
        for (int i = channels.size(); i < count && connecting.size() < CONNECTING_AT_ONCE; i++) {
          Line line =
              http2
                  ? new Http2Line(uri, row.ask().path(), Math.min(row.connections(), STREAMS))
                  : new Http1Line(request, bytes, row.ask().status());
          lines.add(line);
          connecting.add(connect(uri, tls, line));
        }
        for (ChannelFuture one : connecting) {
          channels.add(one.sync().channel());
          SslHandler handshake = one.channel().pipeline().get(SslHandler.class);
          if (handshake != null) {
            handshake.handshakeFuture().sync();
          }
        }
      }
    } catch (RuntimeException failed) {
      connections.close();
      throw failed;
    }
    return connections;
  }

  private ChannelFuture connect(URI uri, SslContext tls, Line line) {
    return new Bootstrap()
        .group(loop)
        .channel(EpollSocketChannel.class)
        .option(ChannelOption.TCP_NODELAY, true)
        .handler(
            new ChannelInitializer<Channel>() {
              @Override
              protected void initChannel(Channel channel) {
                if (tls != null) {
                  channel
                      .pipeline()
                      .addLast(tls.newHandler(channel.alloc(), uri.getHost(), uri.getPort()));
                }
                if (line instanceof Http2Line) {
                  channel
                      .pipeline()
                      .addLast(new LengthFieldBasedFrameDecoder(MAX_FRAME, 0, 3, 6, 0));
                }
                channel.pipeline().addLast(line);
              }
            })
        .connect(InetAddress.getLoopbackAddress(), uri.getPort());
  }

  private static SslContext trusting(Path certificate, String protocol) throws IOException {
    return SslContextBuilder.forClient()
        .sslProvider(SslProvider.OPENSSL)
        .trustManager(certificate.toFile())
        .applicationProtocolConfig(
            new ApplicationProtocolConfig(
                ApplicationProtocolConfig.Protocol.ALPN,
                ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
                ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
                protocol))
        .build();
  }

  @Override
  public void close() {
    group.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
  }
}
