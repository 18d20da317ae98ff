package dev.berth.routing;

import java.time.Duration;

/**
 * The bounds of one router loop.
 *
 * @param pendingRequests requests, reserves and renewals waiting for an answer, 1 to 65 536;
 *     default 8 192
 * @param streamWindowBytes bytes of one streamed response in flight; default 256 KiB
 * @param acceptNanos how long a replica of another instance may take up what is sent to it; default
 *     3 s; never more than {@code detection.timeout_ms}, after which it is not waited for
 * @param recallNanos after how long without an answer what was sent to a replica of another
 *     instance is recalled, and how far apart recalls and cancels are repeated; default 1 s
 * @param cancelledCalls cancelled calls to other instances whose cancel is repeated until it is
 *     answered; of more it is sent once; default 1 024
 * @param unavailableNanos how long requests wait for a replica that can be reached while there is
 *     no controller; default 5 s
 */
public record LoopLimits(
    int pendingRequests,
    int streamWindowBytes,
    long acceptNanos,
    long recallNanos,
    int cancelledCalls,
    long unavailableNanos) {
  /** The largest frame of a stream, in bytes; also the smallest window. */
  public static final int MAX_FRAME_BYTES = 64 << 10;

  /** The defaults above. */
  public static final LoopLimits DEFAULTS = new LoopLimits(8_192, 256 << 10);

  /** With the defaults of what concerns other instances. */
  public LoopLimits(int pendingRequests, int streamWindowBytes) {
    this(
        pendingRequests,
        streamWindowBytes,
        Duration.ofSeconds(3).toNanos(),
        Duration.ofSeconds(1).toNanos(),
        1_024,
        Duration.ofSeconds(5).toNanos());
  }
}
