package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.local.LocalChannel;
import io.netty.channel.local.LocalIoHandler;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class FlushTogetherTest {
  private final EventLoopGroup loop =
      new MultiThreadIoEventLoopGroup(1, LocalIoHandler.newFactory());
  private final List<Object> socket = new CopyOnWriteArrayList<>();

  @AfterEach
  void stop() {
    loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void answersOfOneRunOfTheLoopAreFlushedOnceAfterIt() throws Exception {
    ChannelDuplexHandler http2 = new ChannelDuplexHandler();
    LocalChannel channel = new LocalChannel();
    channel.pipeline().addLast(new Socket(), http2);
    loop.register(channel).sync();
    ChannelHandlerContext connection = channel.pipeline().context(http2);
    channel.pipeline().addBefore(connection.name(), "outflow", new Http2WriteCoalescer(() -> {}));

    loop.submit(
            () -> {
              connection.writeAndFlush("one");
              connection.writeAndFlush("two");
              connection.writeAndFlush("three");
            })
        .sync();
    loop.submit(() -> {}).sync();

    assertThat(socket).containsExactly("one", "two", "three", "flush");
  }

  /** Writes down what comes to it. */
  private final class Socket extends ChannelOutboundHandlerAdapter {
    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
      socket.add(message);
      promise.setSuccess();
    }

    @Override
    public void flush(ChannelHandlerContext context) {
      socket.add("flush");
    }
  }
}
