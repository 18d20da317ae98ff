package dev.berth.upstream.client;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.util.concurrent.Future;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.spi.transport.Transport;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Opens connections. Each connect resolves the name, checks each address and connects to the first
 * permitted one that accepts. Confined to the event loop.
 */
final class ConnectionOpener {

  /** Resolution of a name on the event loop. The ports of the addresses have no meaning. */
  interface NameLookup {
    Future<List<InetSocketAddress>> resolve(String host);
  }

  private final ContextInternal loop;
  private final ByteBufAllocator memory;
  private final Transport transport;
  private final NameLookup names;

  ConnectionOpener(ContextInternal loop, ByteBufAllocator memory, NameLookup names) {
    this.loop = loop;
    this.memory = memory;
    this.transport = loop.owner().transport();
    this.names = names;
  }

  /** Opens a connection, unless it closes before. */
  void open(UpstreamConnection connection) {
    UpstreamTarget target = connection.target;
    String path = target.socketPath();
    if (path != null) {
      connect(
          connection,
          List.of(transport.convert(io.vertx.core.net.SocketAddress.domainSocketAddress(path))),
          0);
      return;
    }
    names
        .resolve(target.host())
        .addListener(
            (Future<List<InetSocketAddress>> found) -> {
              if (found.isSuccess()) {
                connectPermitted(connection, found.getNow());
              } else {
                fail(connection, "name: not resolved: " + found.cause().getMessage());
              }
            });
  }

  private void connectPermitted(UpstreamConnection connection, List<InetSocketAddress> found) {
    UpstreamTarget target = connection.target;
    List<SocketAddress> permitted = new ArrayList<>(found.size());
    String refusal = "name: no address";
    for (InetSocketAddress each : found) {
      String refused = target.addresses().refusal(each.getAddress(), target.port());
      if (refused == null) {
        permitted.add(new InetSocketAddress(each.getAddress(), target.port()));
      } else {
        refusal = refused;
      }
    }
    if (permitted.isEmpty()) {
      fail(connection, refusal);
    } else {
      connect(connection, permitted, 0);
    }
  }

  private void connect(UpstreamConnection connection, List<SocketAddress> addresses, int index) {
    if (connection.isClosed()) {
      return;
    }
    bootstrap(connection.target, addresses.size())
        .connect(addresses.get(index))
        .addListener(
            (ChannelFuture done) -> {
              if (done.isSuccess()) {
                onConnected(connection, done.channel());
              } else if (index + 1 < addresses.size()) {
                connect(connection, addresses, index + 1);
              } else {
                fail(connection, "connect: " + done.cause().getMessage());
              }
            });
  }

  private Bootstrap bootstrap(UpstreamTarget target, int addresses) {
    boolean unix = target.socketPath() != null;
    long millis = TimeUnit.NANOSECONDS.toMillis(target.timeouts().connectNanos()) / addresses;
    Bootstrap bootstrap =
        new Bootstrap()
            .group(loop.nettyEventLoop())
            .channelFactory(transport.channelFactory(unix))
            .option(ChannelOption.ALLOCATOR, memory)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int) millis)
            .handler(NO_HANDLER);
    if (!unix) {
      bootstrap.option(ChannelOption.TCP_NODELAY, true).option(ChannelOption.SO_KEEPALIVE, true);
    }
    return bootstrap;
  }

  private static final ChannelHandler NO_HANDLER =
      new ChannelInitializer<Channel>() {
        @Override
        protected void initChannel(Channel connecting) {} // handlers follow after the connect

        @Override
        public boolean isSharable() {
          return true;
        }
      };

  private void onConnected(UpstreamConnection connection, Channel channel) {
    if (connection.isClosed()) {
      channel.close();
      return;
    }
    UpstreamTls tls = connection.target.tls();
    if (tls != null) {
      channel.pipeline().addLast(tls.handler(memory, connection.target.port()));
    }
    channel.pipeline().addLast(connection);
    if (tls == null) {
      loop.dispatch(here -> connection.onOpen());
    }
  }

  private void fail(UpstreamConnection connection, String reason) {
    loop.dispatch(here -> connection.fail(reason));
  }
}
