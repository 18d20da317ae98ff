package dev.berth.stream;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.buffer.Buffer;
import org.junit.jupiter.api.Test;

/** Unsent chunks: small ones may share a buffer, which nobody else sees change. */
class OutboundChunkQueueTest {
  private final OutboundChunkQueue queue = new OutboundChunkQueue();

  @Test
  void joinedChunksAreOneAndNotTheWritersBuffer() {
    Buffer first = Buffer.buffer("a");
    queue.join(first, 0);
    queue.join(Buffer.buffer("b"), 0);
    queue.join(Buffer.buffer("c"), 0);

    assertThat(queue.size()).isEqualTo(1);
    assertThat(queue.bytes()).isEqualTo(3);
    assertThat(queue.peek(3).toString()).isEqualTo("abc");
    assertThat(first.toString()).isEqualTo("a");
  }

  @Test
  void aLargeChunkIsNotCopiedForASmallOne() {
    Buffer large = Buffer.buffer(new byte[OutboundChunkQueue.MAX_JOINED_BYTES + 1]);
    queue.add(large);
    queue.join(Buffer.buffer("a"), 0);
    queue.join(Buffer.buffer("b"), 0);

    assertThat(queue.size()).isEqualTo(2);
    assertThat(queue.peek(large.length())).isSameAs(large);
    queue.drop(large.length());
    assertThat(queue.peek(2).toString()).isEqualTo("ab");
  }

  @Test
  void aFrameDoesNotChangeWhenAChunkIsJoinedToTheRest() {
    queue.join(Buffer.buffer("a"), 0);
    queue.join(Buffer.buffer("b"), 0);
    Buffer frame = queue.peek(2);
    queue.join(Buffer.buffer("c"), 0);
    assertThat(frame.toString()).isEqualTo("ab");

    queue.drop(1);
    queue.join(Buffer.buffer("d"), 0);
    assertThat(queue.bytes()).isEqualTo(3);
    assertThat(queue.peek(3).toString()).isEqualTo("bcd");
    queue.drop(3);
    assertThat(queue.size()).isZero();
  }
}
