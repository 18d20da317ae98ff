package dev.berth.cluster.link;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FramesTest {
  private static final int MOST = 5_000;

  private final FrameDecoder frames = new FrameDecoder(MOST);
  private final List<Buffer> found = new ArrayList<>();

  private static ByteBuf bytes(Buffer piece) {
    return ((BufferInternal) piece).getByteBuf();
  }

  private static Buffer framed(byte[] payload) {
    return Buffer.buffer().appendInt(payload.length).appendBytes(payload);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void framesAreFoundInAnyPieces(long seed) {
    Random random = new Random(seed);
    List<Buffer> sent = new ArrayList<>();
    Buffer stream = Buffer.buffer();
    for (int i = 0; i < 200; i++) {
      byte[] payload = new byte[random.nextInt(4) == 0 ? random.nextInt(MOST) : random.nextInt(9)];
      random.nextBytes(payload);
      sent.add(Buffer.buffer(payload));
      stream.appendBuffer(framed(payload));
    }
    for (int at = 0; at < stream.length(); ) {
      int end =
          Math.min(stream.length(), at + 1 + random.nextInt(random.nextBoolean() ? 3 : 9_000));
      assertThat(frames.take(bytes(stream.slice(at, end)), found)).isNull();
      at = end;
    }
    assertThat(found).as("seed %d", seed).isEqualTo(sent);
  }

  @Test
  void aLengthThatIsTooLargeOrNegativeIsRefusedWholeOrInPieces() {
    for (int length : new int[] {MOST + 1, -1, Integer.MIN_VALUE}) {
      Buffer bytes = Buffer.buffer().appendInt(length);
      assertThat(new FrameDecoder(MOST).take(bytes(bytes), found))
          .endsWith("a frame of " + (length & 0xFFFF_FFFFL) + " bytes (expected: at most 5000)");
      FrameDecoder slow = new FrameDecoder(MOST);
      assertThat(slow.take(bytes(bytes.slice(0, 3)), found)).isNull();
      assertThat(slow.take(bytes(bytes.slice(3, 4)), found)).contains("(expected: at most 5000)");
    }
    assertThat(found).isEmpty();
  }

  @Test
  void whatCameBeforeAMalformedLengthIsFound() {
    Buffer bytes = framed(new byte[] {1}).appendInt(-1);
    assertThat(frames.take(bytes(bytes), found)).isNotNull();
    assertThat(found).containsExactly(Buffer.buffer(new byte[] {1}));
  }
}
