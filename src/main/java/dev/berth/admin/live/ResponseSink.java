package dev.berth.admin.live;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.WriteStream;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Connection of a viewer. A socket copies all bytes that are written to it, so an event of
 * megabytes, which all viewers share, is written in parts. Confined to the control loop.
 */
final class ResponseSink implements LiveViewer.EventSink {
  static final int PART_BYTES = 32 << 10;

  /** Unsent bytes at which a viewer is slow. */
  private static final int MAX_UNSENT_BYTES = 2 * PART_BYTES;

  private final WriteStream<Buffer> to;
  private final Runnable close;
  private final Deque<Buffer> unwritten = new ArrayDeque<>(2); // the events of one full sink

  ResponseSink(WriteStream<Buffer> to, Runnable close) {
    this.to = to;
    this.close = close;
    to.setWriteQueueMaxSize(MAX_UNSENT_BYTES).drainHandler(drained -> writeParts());
  }

  @Override
  public boolean isFull() {
    return !unwritten.isEmpty() || to.writeQueueFull();
  }

  @Override
  public void write(Buffer event) {
    unwritten.add(event);
    writeParts();
  }

  private void writeParts() {
    while (!unwritten.isEmpty() && !to.writeQueueFull()) {
      Buffer part = unwritten.remove();
      if (part.length() > PART_BYTES) {
        unwritten.addFirst(part.slice(PART_BYTES, part.length()));
        part = part.slice(0, PART_BYTES);
      }
      to.write(part);
    }
  }

  @Override
  public void close() {
    close.run();
  }
}
