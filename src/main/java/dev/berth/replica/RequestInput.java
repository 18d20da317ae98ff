package dev.berth.replica;

import dev.berth.api.BerthException;
import dev.berth.stream.InboundChunkQueue;
import dev.berth.stream.InboundStream;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The body of a request as a blocking handler reads it. The loop adds the received chunks, bounded
 * by the window. The handler's thread removes them, waits while there are none, and reports the
 * bytes read to the loop, which grants them to the sender as credit.
 */
final class RequestInput extends InputStream {
  private final InboundStream stream;
  private final InboundStream.InboundStreamOwner owner;
  // parks a virtual thread without its carrier
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final InboundChunkQueue pieces = new InboundChunkQueue();
  private @Nullable Throwable failure;
  private boolean ended;
  private boolean closed;
  private boolean waiting; // the reader waits
  private int position; // in the first chunk

  /** Creates the input. Confined to the loop. */
  RequestInput(InboundStream stream, InboundStream.InboundStreamOwner owner) {
    this.stream = stream;
    this.owner = owner;
    stream.creditByReader();
    stream.exceptionHandler(why -> change(() -> failure = why));
    stream.endHandler(end -> change(() -> ended = true));
    stream.handler(piece -> change(() -> pieces.add(piece)));
    stream.resume();
  }

  private void change(Runnable how) {
    lock.lock();
    try {
      how.run();
      changed.signal();
    } finally {
      lock.unlock();
    }
  }

  private <T> T look(Supplier<T> at) {
    lock.lock();
    try {
      return at.get();
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether the handler waits for bytes. */
  boolean isStarving() {
    return look(() -> waiting && pieces.isEmpty());
  }

  // --- on the handler's thread ---

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] into, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, into.length);
    if (length == 0) {
      return 0;
    }
    int taken = 0;
    int size;
    lock.lock();
    try {
      Buffer piece = await();
      if (piece == null) {
        return -1;
      }
      size = Math.min(length, piece.length() - position);
      piece.getBytes(position, position + size, into, offset);
      position += size;
      if (position == piece.length()) {
        pieces.remove();
        position = 0;
        taken = piece.length();
      }
    } finally {
      lock.unlock();
    }
    if (taken > 0) {
      int all = taken;
      owner.run(() -> stream.onConsumed(all));
    }
    return size;
  }

  private @Nullable Buffer await() throws IOException {
    while (true) {
      if (closed) {
        throw new IOException("input: closed (expected: open)");
      }
      if (failure != null) {
        if (failure instanceof BerthException known) {
          throw known;
        }
        throw new IOException("the body ended early", failure);
      }
      if (!pieces.isEmpty()) {
        return pieces.first();
      }
      if (ended) {
        return null;
      }
      waiting = true;
      try {
        changed.await();
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted while waiting for the request's body");
      } finally {
        waiting = false;
      }
    }
  }

  @Override
  public int available() {
    return look(() -> pieces.isEmpty() ? 0 : pieces.first().length() - position);
  }

  /** Discards the unread bytes. The sender receives no credit for them. */
  @Override
  public void close() {
    change(
        () -> {
          closed = true;
          pieces.clear();
        });
  }
}
