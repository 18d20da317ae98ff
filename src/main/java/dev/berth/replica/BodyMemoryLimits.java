package dev.berth.replica;

import dev.berth.stream.CountingLimit;

/**
 * Thread-safe memory limits of the request bodies that arrive at an instance's replicas.
 *
 * @param windowBytes maximum of one body's bytes in flight ({@code stream_window_bytes}); default
 *     256 KiB
 * @param windows limit of all bodies' bytes in flight ({@code stream_bytes_total}, which separately
 *     bounds the responses too); default 64 MiB
 * @param gathered limit of the bytes buffered for handlers that receive whole bodies, those of
 *     running requests included ({@code buffered_body_bytes_total}); default 256 MiB
 */
public record BodyMemoryLimits(int windowBytes, CountingLimit windows, CountingLimit gathered) {
  static final int MAX_FRAME_BYTES = 64 * 1024;

  /** Creates limits with nothing in use; parameters as above. */
  public BodyMemoryLimits(int windowBytes, long maxStreamBytes, long maxBufferedBytes) {
    this(windowBytes, new CountingLimit(maxStreamBytes), new CountingLimit(maxBufferedBytes));
  }

  /**
   * Acquires a window for a body: a whole one, or one frame when memory is scarce. Returns its
   * bytes, 0 for none.
   */
  int tryWindow() {
    if (windows.tryTake(windowBytes)) {
      return windowBytes;
    }
    return windows.tryTake(MAX_FRAME_BYTES) ? MAX_FRAME_BYTES : 0;
  }
}
