package dev.berth.replica;

import java.time.Duration;

/**
 * The bounds of the replicas of an instance.
 *
 * @param cancelGraceNanos how long a cancelled request may take to settle before it counts as a
 *     zombie ({@code cancel_grace_s}); default 10 s
 * @param maxZombieRequests a replica with more zombies than this is unhealthy ({@code
 *     max_zombie_requests}); 0 or more, default 16 requests
 * @param streamBufferBytes what a streamed response may hold unsent ({@code stream_buffer_bytes});
 *     default 1 MiB
 * @param streamIdleTimeoutNanos how long a stream with something to send waits for credit ({@code
 *     stream_idle_timeout_s}); default 60 s
 * @param refusedRouters remote routers a replica remembers having refused; default 256 routers
 * @param offerTtlNanos how long a slot is held for a router it was offered to; default 250 ms
 * @param maxBufferedBodyBytes what is gathered of a body for a handler that takes it whole ({@code
 *     max_buffered_body_bytes}); default 4 MiB
 */
public record ReplicaLimits(
    long cancelGraceNanos,
    int maxZombieRequests,
    int streamBufferBytes,
    long streamIdleTimeoutNanos,
    int refusedRouters,
    long offerTtlNanos,
    int maxBufferedBodyBytes) {
  /** The defaults above. */
  public static final ReplicaLimits DEFAULTS =
      new ReplicaLimits(
          Duration.ofSeconds(10).toNanos(),
          16,
          1 << 20,
          Duration.ofSeconds(60).toNanos(),
          256,
          Duration.ofMillis(250).toNanos(),
          4 << 20);

  public ReplicaLimits {
    require("cancelGraceNanos", cancelGraceNanos, 0);
    require("maxZombieRequests", maxZombieRequests, 0);
    require("streamBufferBytes", streamBufferBytes, 1);
    require("streamIdleTimeoutNanos", streamIdleTimeoutNanos, 1);
    require("refusedRouters", refusedRouters, 0);
    require("offerTtlNanos", offerTtlNanos, 1);
    require("maxBufferedBodyBytes", maxBufferedBodyBytes, 0);
  }

  /** These, but for what a deployment says of itself. */
  public ReplicaLimits withOwn(long cancelGrace, int maxZombies, int maxBufferedBody) {
    return new ReplicaLimits(
        cancelGrace,
        maxZombies,
        streamBufferBytes,
        streamIdleTimeoutNanos,
        refusedRouters,
        offerTtlNanos,
        maxBufferedBody);
  }

  private static void require(String name, long value, long least) {
    if (value < least) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: >= " + least + ")");
    }
  }
}
