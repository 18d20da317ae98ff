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
 * @param statsTimeoutNanos how long handlers may take to tell of themselves ({@code
 *     record_autoscaling_stats_timeout_ms}); default 10 s
 */
public record ReplicaLimits(
    long cancelGraceNanos,
    int maxZombieRequests,
    int streamBufferBytes,
    long streamIdleTimeoutNanos,
    int refusedRouters,
    long offerTtlNanos,
    int maxBufferedBodyBytes,
    long statsTimeoutNanos) {
  /** The defaults above. */
  public static final ReplicaLimits DEFAULTS =
      new ReplicaLimits(
          Duration.ofSeconds(10).toNanos(),
          16,
          1 << 20,
          Duration.ofSeconds(60).toNanos(),
          256,
          Duration.ofMillis(250).toNanos(),
          4 << 20,
          Duration.ofSeconds(10).toNanos());

  /** These, but for what a deployment says of itself. */
  public ReplicaLimits withOwn(long cancelGrace, int maxZombies, int maxBufferedBody) {
    return new ReplicaLimits(
        cancelGrace,
        maxZombies,
        streamBufferBytes,
        streamIdleTimeoutNanos,
        refusedRouters,
        offerTtlNanos,
        maxBufferedBody,
        statsTimeoutNanos);
  }
}
