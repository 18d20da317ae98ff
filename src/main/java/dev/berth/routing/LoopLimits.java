package dev.berth.routing;

/**
 * The bounds of one router loop.
 *
 * @param pendingRequests requests, reserves and renewals waiting for an answer, 1 to 65 536;
 *     default 8 192
 * @param streamWindowBytes bytes of one streamed response in flight; default 256 KiB
 */
public record LoopLimits(int pendingRequests, int streamWindowBytes) {
  /** The largest frame of a stream, in bytes; also the smallest window. */
  public static final int MAX_FRAME_BYTES = 64 << 10;

  /** The defaults above. */
  public static final LoopLimits DEFAULTS = new LoopLimits(8_192, 256 << 10);
}
