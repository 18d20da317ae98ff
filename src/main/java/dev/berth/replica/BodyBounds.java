package dev.berth.replica;

import dev.berth.stream.Bound;

/**
 * What the request bodies that arrive at an instance's replicas may hold together. Any thread.
 *
 * @param windowBytes what one body may have under way ({@code stream_window_bytes}); default 256
 *     KiB
 * @param windows what all bodies together may have under way, in bytes ({@code stream_bytes_total},
 *     which bounds the responses by itself too); default 64 MiB
 * @param gathered bytes gathered for handlers that take bodies whole, those of requests that run
 *     included ({@code buffered_body_bytes_total}); default 256 MiB
 */
public record BodyBounds(int windowBytes, Bound windows, Bound gathered) {
  static final int MAX_FRAME_BYTES = 64 * 1024;

  /** With nothing taken yet; parameters as above. */
  public BodyBounds(int windowBytes, long maxStreamBytes, long maxBufferedBytes) {
    this(windowBytes, new Bound(maxStreamBytes), new Bound(maxBufferedBytes));
  }

  /** A window for one more body: a whole one, or of one frame when room is scarce; 0 for none. */
  int tryWindow() {
    if (windows.tryTake(windowBytes)) {
      return windowBytes;
    }
    return windows.tryTake(MAX_FRAME_BYTES) ? MAX_FRAME_BYTES : 0;
  }
}
