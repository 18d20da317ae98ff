package dev.berth.admin.live;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.WriteStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ResponseSinkTest {

  /** Connection whose client takes bytes when the test says so. */
  private static final class FakeStream implements WriteStream<Buffer> {
    final Buffer written = Buffer.buffer();
    int unread;
    private int max;
    private Handler<Void> drained = none -> {};

    @Override
    public Future<Void> write(Buffer data) {
      written.appendBuffer(data);
      unread += data.length();
      return Future.succeededFuture();
    }

    void read() {
      unread = 0;
      drained.handle(null);
    }

    @Override
    public boolean writeQueueFull() {
      return unread >= max;
    }

    @Override
    public FakeStream setWriteQueueMaxSize(int maxSize) {
      max = maxSize;
      return this;
    }

    @Override
    public FakeStream drainHandler(@Nullable Handler<Void> handler) {
      drained = handler == null ? none -> {} : handler;
      return this;
    }

    @Override
    public FakeStream exceptionHandler(@Nullable Handler<Throwable> handler) {
      return this;
    }

    @Override
    public Future<Void> end() {
      return Future.succeededFuture();
    }
  }

  @Test
  void largeEventIsWrittenAsTheClientReads() {
    FakeStream stream = new FakeStream();
    ResponseSink sink = new ResponseSink(stream, () -> {});
    Buffer event = Buffer.buffer("0123456789".repeat(100_000));
    sink.write(Buffer.buffer("first"));
    assertThat(sink.isFull()).isFalse();
    sink.write(event);
    assertThat(stream.unread).isLessThanOrEqualTo(4 * ResponseSink.PART_BYTES);
    sink.write(Buffer.buffer("last"));
    for (int reads = 0; sink.isFull(); reads++) {
      assertThat(stream.unread).isLessThanOrEqualTo(4 * ResponseSink.PART_BYTES);
      assertThat(reads).isLessThan(100);
      stream.read();
    }
    assertThat(stream.written.toString()).isEqualTo("first" + event + "last");
  }
}
