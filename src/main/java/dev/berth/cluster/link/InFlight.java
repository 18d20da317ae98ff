package dev.berth.cluster.link;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bytes of frames on their way to one peer, over all links: appended, and not yet taken by the
 * kernel. Any thread.
 */
public final class InFlight {
  /** What a link may say of itself when the cap is reached, in bytes: small frames, few of them. */
  static final int OWN_ROOM = 64 * 1024;

  private final long cap;
  private final AtomicLong bytes = new AtomicLong();

  /**
   * @param cap in bytes; {@code max_inflight_bytes_per_peer}, 8 MiB by default
   */
  public InFlight(long cap) {
    this.cap = cap;
  }

  /**
   * Counts a frame, unless it is too much. One alone may be larger than the cap.
   *
   * @param room beyond the cap, in bytes
   */
  boolean tryAdd(int more, int room) {
    long now = bytes.addAndGet(more);
    if (now <= cap + room || now - more <= OWN_ROOM) { // else a large one would wait for ever
      return true;
    }
    bytes.addAndGet(-more);
    return false;
  }

  void done(int fewer) {
    bytes.addAndGet(-fewer);
  }

  /** Whether nothing more is taken now. */
  public boolean full() {
    return bytes.get() >= cap;
  }

  /** Bytes now. */
  public long bytes() {
    return bytes.get();
  }
}
