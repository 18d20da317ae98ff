package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class FlushTogetherTest {
  private final AtomicInteger flushes = new AtomicInteger();
  private final ChannelDuplexHandler http2 = new ChannelDuplexHandler();
  private final EmbeddedChannel channel =
      new EmbeddedChannel(
          new ChannelDuplexHandler() {
            @Override
            public void flush(ChannelHandlerContext context) {
              flushes.incrementAndGet();
              context.flush();
            }
          },
          http2);

  @Test
  void answersOfOneRunOfTheLoopAreFlushedOnce() {
    Http2Connection.flushTogether(channel.pipeline().context(http2));
    ChannelHandlerContext connection = channel.pipeline().context(http2);

    connection.writeAndFlush("one");
    connection.writeAndFlush("two");
    connection.writeAndFlush("three");
    assertThat(flushes).as("while the loop runs").hasValue(0);

    channel.runPendingTasks();
    assertThat(flushes).as("afterwards").hasValue(1);
    assertThat(channel.outboundMessages()).containsExactly("one", "two", "three");
  }

  @Test
  void nothingWaitsForACloseThatFollows() {
    Http2Connection.flushTogether(channel.pipeline().context(http2));
    ChannelHandlerContext connection = channel.pipeline().context(http2);

    connection.writeAndFlush("last");
    connection.close();
    assertThat(channel.outboundMessages()).containsExactly("last");
  }
}
