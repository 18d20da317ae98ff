package dev.berth.ingress;

import dev.berth.routing.LoopLimits;

/**
 * Recent sizes of the whole responses of a route, by path. They estimate the next response before
 * its handler runs. An unknown path gets the largest recent size of the route, and at least 1 MiB.
 * An estimate grows at once and halves with each smaller response. Confined to the event loop.
 */
final class ResponseSizeEstimator {
  private static final int PATHS = 256; // hash buckets; colliding paths share one
  private static final int SMALL = 16; // log2 of the bytes of one message; streams count as small

  private static final int UNKNOWN = 20; // log2 of the minimum for unknown paths

  static {
    assert 1 << SMALL == LoopLimits.MAX_FRAME_BYTES;
  }

  private final byte[] byPath = new byte[PATHS]; // log2 of bytes; 0 if unknown
  private int largest = UNKNOWN;

  /** Returns the expected bytes of the next response of a path; 0 if small. */
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
   * Records the size of a response.
   *
   * @return the bytes to count for the response; 0 if small
   */
  long recordSize(String path, long bytes) {
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
