package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.berth.ingress.limit.SynFilter;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A port with the filter answers no SYN, and takes every other segment. */
class SynFilterTest {
  private static final int CONNECT_MS = 500;
  private static final int DEFER_S = 10; // an accepted connection waits for its first bytes

  private EventLoopGroup loop;
  private Channel port;

  @BeforeEach
  void listen() throws Exception {
    assumeTrue(Epoll.isAvailable(), "Linux alone");
    loop = new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());
    port =
        new ServerBootstrap()
            .group(loop)
            .channel(EpollServerSocketChannel.class)
            .option(EpollChannelOption.TCP_DEFER_ACCEPT, DEFER_S)
            .childHandler(new Echo())
            .bind(InetAddress.getLoopbackAddress(), 0)
            .sync()
            .channel();
  }

  @AfterEach
  void stop() throws Exception {
    if (loop != null) {
      loop.shutdownGracefully().sync();
    }
  }

  @ChannelHandler.Sharable
  private static final class Echo extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext from, Object message) {
      from.writeAndFlush((ByteBuf) message);
    }
  }

  /**
   * @param receiveBytes size of its receive buffer; 0 for the system's
   */
  private Socket connect(int receiveBytes) throws IOException {
    Socket client = new Socket();
    client.setSoTimeout(2_000);
    if (receiveBytes > 0) {
      client.setReceiveBufferSize(receiveBytes);
    }
    client.connect((InetSocketAddress) port.localAddress(), CONNECT_MS);
    return client;
  }

  private static int echoed(Socket client, int sent) throws IOException {
    client.getOutputStream().write(sent);
    return client.getInputStream().read();
  }

  @Test
  void portWithTheFilterAnswersNoNewClient() throws Exception {
    assertThat(SynFilter.set(port)).isTrue();
    assertThatThrownBy(() -> connect(0).close()).isInstanceOf(SocketTimeoutException.class);
  }

  @Test
  void portWithTheFilterTakesClientsOnTheirWay() throws Exception {
    List<Socket> onTheirWay = new ArrayList<>();
    try (Socket accepted = connect(0)) {
      assertThat(echoed(accepted, 'a')).isEqualTo('a');
      for (int client = 0; client < 32; client++) {
        onTheirWay.add(connect(2_048 + client * 733)); // windows of many sizes, beside the flags
      }
      assertThat(SynFilter.set(port)).isTrue();
      for (Socket each : onTheirWay) {
        assertThat(echoed(each, 'b')).isEqualTo('b');
      }
      assertThat(echoed(accepted, 'c')).isEqualTo('c');
    } finally {
      for (Socket each : onTheirWay) {
        each.close();
      }
    }
  }
}
