package dev.berth.ingress;

import dev.berth.routing.LoopLimits;

/**
 * How large the whole answers of a route were lately, by path: what the next one is expected to be
 * before its handler runs. A path of which nothing is known is taken for as large as the largest,
 * and for a megabyte at least. What shrinks is believed by halves. Confined to its loop.
 */
final class AnswerSizes {
  private static final int PATHS = 256; // by hash: two that meet are one
  private static final int SMALL = 16; // what fits into a message is small, and streams are

  private static final int UNKNOWN = 20; // at least

  static {
    assert 1 << SMALL == LoopLimits.MAX_FRAME_BYTES;
  }

  private final byte[] byPath = new byte[PATHS]; // logarithms of bytes, to base 2; 0 when unknown
  private int largest = UNKNOWN;

  /** Bytes; 0 for a small one. */
  long expected(String path) {
    int size = byPath[indexOf(path)];
    if (size == 0) {
      size = largest;
    }
    return size <= SMALL ? 0 : 1L << size;
  }

  boolean knows(String path) {
    return byPath[indexOf(path)] > 0;
  }

  /**
   * One has come.
   *
   * @return the bytes that it is counted with; 0 for a small one
   */
  long came(String path, long bytes) {
    int size = bytes <= 1 << SMALL ? SMALL : Long.SIZE - Long.numberOfLeadingZeros(bytes - 1);
    int index = indexOf(path);
    byte known = byPath[index];
    byte now = (byte) Math.max(size, known - 1);
    if (now != known) {
      byPath[index] = now;
    }
    if (size == SMALL) {
      return 0;
    }
    largest = Math.max(Math.max(size, UNKNOWN), largest - 1);
    return bytes;
  }

  private static int indexOf(String path) {
    int hash = path.hashCode();
    return (hash ^ hash >>> 8 ^ hash >>> 16) & PATHS - 1;
  }
}
