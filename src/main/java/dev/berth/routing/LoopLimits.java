package dev.berth.routing;

import java.time.Duration;

/**
 * The limits of one router loop.
 *
 * @param pendingRequests maximum requests, reserves and renewals that await a reply, 1 to 65 536;
 *     default 8 192
 * @param streamWindowBytes maximum bytes in flight of one streamed response; default 256 KiB
 * @param acceptNanos accept time of a message to a replica of another instance; default 3 s; at
 *     most {@code detection.timeout_ms}, after which routers no longer wait for that replica
 * @param recallNanos time without a reply after which a message to a remote replica is recalled,
 *     and the interval of further recalls and of repeated cancels; default 1 s
 * @param cancelledCalls maximum cancelled calls to other instances whose cancel is repeated until
 *     it is confirmed; further cancels are sent once; default 1 024
 * @param unavailableNanos maximum wait for a reachable replica while there is no controller;
 *     default 5 s
 */
public record LoopLimits(
    int pendingRequests,
    int streamWindowBytes,
    long acceptNanos,
    long recallNanos,
    int cancelledCalls,
    long unavailableNanos) {
  /** Maximum frame of a stream, in bytes; also the minimum window. */
  public static final int MAX_FRAME_BYTES = 64 << 10;

  /** The default limits. */
  public static final LoopLimits DEFAULTS = new LoopLimits(8_192, 256 << 10);

  /** Creates limits with the defaults for messages to other instances. */
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
