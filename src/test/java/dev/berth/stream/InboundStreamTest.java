package dev.berth.stream;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class InboundStreamTest {
  private final List<Buffer> pieces = new ArrayList<>();
  private final InboundStream stream = new InboundStream(1 << 20, Runnable::run);

  @Test
  void singleBytesThatWaitAreJoinedInOrder() {
    Buffer sent = Buffer.buffer();
    for (int i = 0; i < 200_000; i++) {
      Buffer data = Buffer.buffer(new byte[] {(byte) i});
      sent.appendBuffer(data);
      stream.frame(i, data, i == 199_999);
    }

    stream.handler(pieces::add).resume();

    Buffer got = Buffer.buffer();
    pieces.forEach(got::appendBuffer);
    assertThat(got).isEqualTo(sent);
    assertThat(pieces.size()).isLessThanOrEqualTo(6); // the first, and joined ones of 64 KiB
    assertThat(stream.isOver()).isTrue();
  }

  @Test
  void whatWasDeliveredIsNotChangedByWhatComesAfter() {
    stream.frame(0, Buffer.buffer("a"), false);
    stream.frame(1, Buffer.buffer("b"), false);
    stream.handler(pieces::add).resume(); // "a", and "b" from a buffer made here
    stream.pause();
    stream.frame(2, Buffer.buffer("c"), false);
    stream.frame(3, Buffer.buffer("d"), false);
    assertThat(pieces.stream().map(Buffer::toString)).containsExactly("a", "b");

    stream.resume();

    assertThat(pieces.stream().map(Buffer::toString)).containsExactly("a", "b", "c", "d");
  }
}
