package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import org.junit.jupiter.api.Test;

class Http2OutflowTest {
  private static final int DATA = 0;
  private static final int HEADERS = 1;

  private final Http2WriteCoalescer outflow = new Http2WriteCoalescer(() -> {});
  private final EmbeddedChannel channel = new EmbeddedChannel(outflow);

  private void header(int length, int type, int stream) {
    ByteBuf header = Unpooled.buffer().writeMedium(length).writeByte(type).writeByte(0);
    channel.write(header.writeInt(stream));
  }

  private void payload(int length) {
    channel.write(Unpooled.wrappedBuffer(new byte[length]));
  }

  @Test
  void theDataOfAWatchedStreamIsCounted() {
    assertThat(outflow.sent(3)).isZero();
    header(100, DATA, 3);
    payload(100);
    header(50, HEADERS, 3);
    payload(50);
    header(7, DATA, 5);
    payload(7);
    header(1, DATA, 3);
    payload(1);
    assertThat(outflow.sent(3)).isEqualTo(101);
    assertThat(outflow.sent(5)).as("watched from now on").isZero();
    outflow.forget(3);
    assertThat(outflow.sent(3)).isZero();
  }

  @Test
  void whatAFrameCarriesIsNotTakenForAHeader() {
    outflow.sent(0x01010101);
    header(18, DATA, 3);
    payload(9); // nine bytes of zero would be a frame of data
    channel.write(Unpooled.wrappedBuffer(new byte[] {0, 1, 0, DATA, 0, 1, 1, 1, 1}));
    header(2, DATA, 0x01010101);
    payload(2);
    assertThat(outflow.sent(0x01010101)).isEqualTo(2);
  }

  @Test
  void aFrameInOnePieceIsFollowedByTheNext() {
    outflow.sent(3);
    channel.write(
        Unpooled.buffer()
            .writeMedium(8)
            .writeByte(6)
            .writeByte(0)
            .writeInt(0)
            .writeLong(0)); // PING
    header(4, DATA, 3);
    payload(4);
    assertThat(outflow.sent(3)).isEqualTo(4);
  }
}
