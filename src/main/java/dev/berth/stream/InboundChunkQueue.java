package dev.berth.stream;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * FIFO queue of the received chunks of a stream whose reader is slow. Small chunks are joined:
 * credit counts bytes, and a buffer for each single byte of a window would use a hundred times the
 * window. The first chunk is never changed, as it may be in use. Not thread-safe.
 */
public final class InboundChunkQueue {
  /** Size in bytes below which chunks are joined. */
  private static final int SMALL_BYTES = 1 << 10;

  /** Maximum size of a joined chunk in bytes: one frame. */
  private static final int JOINED_BYTES = 64 << 10;

  private final ArrayDeque<Buffer> pieces = new ArrayDeque<>();
  private @Nullable Buffer joined; // the last chunk, if it was joined here

  /** Adds a chunk, which is only read. */
  public void add(Buffer piece) {
    Buffer last = pieces.peekLast();
    if (last != null
        && last == joined
        && pieces.size() > 1
        && last.length() + piece.length() <= JOINED_BYTES) {
      last.appendBuffer(piece);
    } else if (last != null && piece.length() < SMALL_BYTES) {
      Buffer made = Buffer.buffer(SMALL_BYTES).appendBuffer(piece);
      joined = made;
      pieces.add(made);
    } else {
      pieces.add(piece);
    }
  }

  public boolean isEmpty() {
    return pieces.isEmpty();
  }

  /**
   * Returns the first chunk without removing it; {@link java.util.NoSuchElementException} when
   * empty.
   */
  public Buffer first() {
    return pieces.element();
  }

  /** Removes the first chunk; {@link java.util.NoSuchElementException} when empty. */
  public Buffer remove() {
    return pieces.remove();
  }

  /** Removes all chunks, as one buffer that shares their memory. It starts with another chunk. */
  public Buffer join(Buffer first) {
    ByteBuf[] all = new ByteBuf[pieces.size() + 1];
    all[0] = ((BufferInternal) first).getByteBuf();
    for (int i = 1; i < all.length; i++) {
      all[i] = ((BufferInternal) pieces.remove()).getByteBuf();
    }
    return BufferInternal.buffer(Unpooled.wrappedBuffer(all.length, all));
  }

  /** Moves the bytes of all chunks to the end of a buffer, which it returns. */
  public Buffer moveTo(Buffer all) {
    while (!pieces.isEmpty()) {
      all.appendBuffer(pieces.remove());
    }
    return all;
  }

  public void clear() {
    pieces.clear();
  }
}
