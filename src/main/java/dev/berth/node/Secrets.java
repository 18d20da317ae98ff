package dev.berth.node;

import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.function.LongSupplier;

/**
 * Thread-safe generator of 64 unguessable bits per call. Each thread draws them in blocks: a call
 * of the system's generator for each token would cost more than the rest of a reserve.
 */
final class Secrets implements LongSupplier {
  private static final int BLOCK_BYTES = 512;

  private final SecureRandom random;
  private final ThreadLocal<ByteBuffer> blocks =
      ThreadLocal.withInitial(() -> ByteBuffer.allocate(BLOCK_BYTES).limit(0));

  Secrets(SecureRandom random) {
    this.random = random;
  }

  @Override
  public long getAsLong() {
    ByteBuffer block = blocks.get();
    if (!block.hasRemaining()) {
      random.nextBytes(block.array());
      block.clear();
    }
    return block.getLong();
  }
}
