package dev.berth.upstream.client;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.util.concurrent.Future;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.spi.transport.Transport;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Opens connections. Each connect resolves the name, and tries the addresses that the policy
 * permits in order, until one accepts or the connect timeout passes. Confined to the event loop.
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
  void open(ClientConnection connection) {
    UpstreamTarget target = connection.target;
    String path = target.socketPath();
    if (path != null) {
      io.vertx.core.net.SocketAddress unix =
          io.vertx.core.net.SocketAddress.domainSocketAddress(path);
      connect(connection, transport.convert(unix), reason -> fail(connection, reason));
      return;
    }
    String only = target.addresses().only();
    names
        .resolve(only == null ? target.host() : only)
        .addListener(
            (Future<List<InetSocketAddress>> found) -> {
              if (found.isSuccess()) {
                connectPermitted(connection, found.getNow().iterator(), null);
              } else {
                fail(connection, "name: not resolved: " + found.cause().getMessage());
              }
            });
  }

  /**
   * Connects to the next permitted address, and to the one after it if that fails.
   *
   * @param problem of the addresses before; null for none
   */
  private void connectPermitted(
      ClientConnection connection,
      Iterator<InetSocketAddress> addresses,
      @Nullable String problem) {
    UpstreamTarget target = connection.target;
    String first = problem;
    while (addresses.hasNext() && !connection.isClosed()) {
      InetAddress next = addresses.next().getAddress();
      String refusal = target.addresses().refusal(next, target.port());
      if (refusal == null) {
        String before = first;
        connect(
            connection,
            new InetSocketAddress(next, target.port()),
            reason -> connectPermitted(connection, addresses, before == null ? reason : before));
        return;
      }
      first = first == null ? refusal : first;
    }
    fail(connection, first == null ? "name: no address" : first);
  }

  private void connect(
      ClientConnection connection, SocketAddress address, Consumer<String> onFailed) {
    if (connection.isClosed()) {
      return;
    }
    UpstreamTarget target = connection.target;
    boolean unix = target.socketPath() != null;
    Bootstrap bootstrap =
        new Bootstrap()
            .group(loop.nettyEventLoop())
            .channelFactory(transport.channelFactory(unix))
            .option(ChannelOption.ALLOCATOR, memory)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 0) // the client's own deadline holds
            .handler(handlers(connection));
    if (!unix) {
      bootstrap.option(ChannelOption.TCP_NODELAY, true).option(ChannelOption.SO_KEEPALIVE, true);
    }
    bootstrap
        .connect(address)
        .addListener(
            done -> {
              if (!done.isSuccess()) {
                onFailed.accept("connect: " + done.cause().getMessage());
              }
            });
  }

  private ChannelHandler handlers(ClientConnection connection) {
    return new ChannelInitializer<Channel>() {
      @Override
      protected void initChannel(Channel channel) {
        UpstreamTls tls = connection.target.tls();
        if (tls != null) {
          channel.pipeline().addLast(tls.handler(memory, connection.target.port()));
        }
        channel.pipeline().addLast(connection);
      }
    };
  }

  private void fail(ClientConnection connection, @Nullable String reason) {
    loop.dispatch(here -> connection.fail(reason));
  }
}
