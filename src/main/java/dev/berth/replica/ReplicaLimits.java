package dev.berth.replica;

import dev.berth.protocol.BatchSettings;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The limits of the replicas of an instance.
 *
 * @param cancelGraceNanos time in which a cancelled request must settle, after which it counts as a
 *     zombie ({@code cancel_grace_s}); default 10 s
 * @param maxZombieRequests maximum of zombies of a healthy replica ({@code max_zombie_requests}); 0
 *     or more, default 16 requests
 * @param streamBufferBytes maximum of unsent bytes of a streamed response ({@code
 *     stream_buffer_bytes}); default 1 MiB
 * @param streamIdleTimeoutNanos time for which a stream with unsent bytes waits for credit ({@code
 *     stream_idle_timeout_s}); default 60 s
 * @param refusedRouters maximum of refused remote routers that a replica registers; default 256
 *     routers
 * @param offerTtlNanos time for which a slot is reserved for a router with an offer; default 250 ms
 * @param maxBufferedBodyBytes maximum of bytes buffered of a body for a handler that receives it
 *     whole ({@code max_buffered_body_bytes}); default 4 MiB
 * @param statsTimeoutNanos timeout of the handlers' autoscaling statistics ({@code
 *     record_autoscaling_stats_timeout_ms}); default 10 s
 * @param routePrefix {@code route_prefix} of the application, as its requests see it; empty without
 *     HTTP
 * @param rootPath {@code root_path} of the instance, which may precede the prefix
 * @param batching rules of batches; null, the default, when requests run alone
 */
public record ReplicaLimits(
    long cancelGraceNanos,
    int maxZombieRequests,
    int streamBufferBytes,
    long streamIdleTimeoutNanos,
    int refusedRouters,
    long offerTtlNanos,
    int maxBufferedBodyBytes,
    long statsTimeoutNanos,
    String routePrefix,
    String rootPath,
    @Nullable BatchSettings batching) {
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
          Duration.ofSeconds(10).toNanos(),
          "",
          "",
          null);

  /** Returns these limits with those of a deployment in place. */
  public ReplicaLimits withOwn(long cancelGrace, int maxZombies, int maxBufferedBody) {
    return withOwn(cancelGrace, maxZombies, maxBufferedBody, routePrefix, batching);
  }

  /** Returns these limits with those of a deployment, its route prefix and its batches. */
  public ReplicaLimits withOwn(
      long cancelGrace,
      int maxZombies,
      int maxBufferedBody,
      String prefix,
      @Nullable BatchSettings batches) {
    return new ReplicaLimits(
        cancelGrace,
        maxZombies,
        streamBufferBytes,
        streamIdleTimeoutNanos,
        refusedRouters,
        offerTtlNanos,
        maxBufferedBody,
        statsTimeoutNanos,
        prefix,
        rootPath,
        batches);
  }
}
