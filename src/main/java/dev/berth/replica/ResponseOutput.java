package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A response body written by a blocking handler. For the loop it is a producer. For the handler's
 * thread it is an output that blocks until the written bytes are accepted. The last bytes are sent
 * with the end.
 */
final class ResponseOutput extends OutputStream implements Response.Producer {
  private static final int BUFFER_BYTES = 32 * 1024;

  private final Promise<Void> done = Promise.promise();
  private final CompletableFuture<ResponseWriter> opened = new CompletableFuture<>();
  private final AtomicBoolean finished = new AtomicBoolean();
  private byte[] buffer = new byte[0]; // allocated by the first small write
  private int buffered;
  private @Nullable Throwable failure;

  // --- on the loop ---

  @Override
  public Future<Void> writeTo(ResponseWriter writer) {
    opened.complete(writer);
    return done.future();
  }

  /** Releases a thread that waits for a response which will never start. */
  void onSettled() {
    if (!opened.isDone()) {
      opened.completeExceptionally(cancelled());
    }
  }

  private static BerthException cancelled() {
    return new BerthException.Cancelled("output: ended (expected: an open stream)");
  }

  // --- on the handler's thread ---

  /**
   * Writes the body once the response has started. Does not throw; {@link #finish} then settles the
   * body.
   */
  void produce(Response.BlockingProducer producer) {
    try {
      await(opened);
    } catch (Throwable ended) {
      return; // the request has ended: the producer is not called
    }
    try {
      producer.writeTo(this);
      if (buffered > 0) { // not awaited: its end follows at once
        opened.join().write(takeBuffered());
      }
    } catch (Throwable thrown) { // user code: its slot must become free after any exception
      failure = thrown;
    }
  }

  /** Settles the body after the thread has written it. */
  void finish() {
    finished.set(true);
    Throwable thrown = failure;
    if (thrown == null) {
      done.tryComplete();
    } else {
      done.tryFail(thrown);
    }
  }

  @Override
  public void write(int one) throws IOException {
    write(new byte[] {(byte) one}, 0, 1);
  }

  @Override
  public void write(byte[] from, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, from.length);
    int at = offset;
    int left = length;
    while (left > 0) {
      if (buffered == 0 && left >= BUFFER_BYTES) {
        int size = Math.min(left, BodyMemoryLimits.MAX_FRAME_BYTES);
        send(Buffer.buffer(size).appendBytes(from, at, size));
        at += size;
        left -= size;
        continue;
      }
      if (buffer.length == 0) {
        buffer = new byte[BUFFER_BYTES];
      }
      int part = Math.min(left, BUFFER_BYTES - buffered);
      System.arraycopy(from, at, buffer, buffered, part);
      buffered += part;
      at += part;
      left -= part;
      if (buffered == BUFFER_BYTES) {
        flush();
      }
    }
  }

  @Override
  public void flush() throws IOException {
    if (buffered > 0) {
      send(takeBuffered());
    }
  }

  private Buffer takeBuffered() {
    int size = buffered;
    buffered = 0;
    return Buffer.buffer(size).appendBytes(buffer, 0, size);
  }

  private void send(Buffer piece) throws IOException {
    if (finished.get()) {
      throw new IOException("output: ended (expected: writes before the producer returns)");
    }
    await(opened.join().write(piece).toCompletionStage().toCompletableFuture());
  }

  private static void await(CompletableFuture<?> what) {
    try {
      what.get();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw cancelled();
    } catch (ExecutionException failed) {
      throw failed.getCause() instanceof BerthException known ? known : cancelled();
    }
  }
}
