package dev.berth.cluster.link;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The bytes of frames in flight to one peer, over all links: written, but not yet accepted by the
 * kernel. Thread-safe.
 */
public final class InFlightBytes {
  /** Bytes beyond the limit for a link's own frames, which are small and few. */
  static final int OWN_ROOM = 64 * 1024;

  private final long cap;
  private final AtomicLong bytes = new AtomicLong();

  /**
   * Creates a counter.
   *
   * @param cap limit in bytes; {@code max_inflight_bytes_per_peer}, 8 MiB by default
   */
  public InFlightBytes(long cap) {
    this.cap = cap;
  }

  /**
   * Counts a frame, unless it exceeds the limit. A frame of any size fits while at most {@link
   * #OWN_ROOM} bytes are in flight.
   *
   * @param room bytes beyond the limit
   */
  boolean tryAdd(int more, int room) {
    long now = bytes.addAndGet(more);
    if (now <= cap + room || now - more <= OWN_ROOM) { // else a large frame would never fit
      return true;
    }
    bytes.addAndGet(-more);
    return false;
  }

  void done(int fewer) {
    bytes.addAndGet(-fewer);
  }

  /** Returns whether the limit is reached, so that no frame is accepted now. */
  public boolean full() {
    return bytes.get() >= cap;
  }

  /** Returns the bytes in flight. */
  public long bytes() {
    return bytes.get();
  }
}
