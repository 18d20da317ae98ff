package dev.berth.node;

import dev.berth.config.ClusterOptions;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.HttpOptions;
import dev.berth.config.InstanceOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.MetricsOptions;
import dev.berth.config.ReservationOptions;
import dev.berth.config.batching.BatchingOptions;
import dev.berth.config.keys.Settings;
import dev.berth.protocol.BatchSettings;
import dev.berth.replica.BodyMemoryLimits;
import dev.berth.replica.ReplicaLimits;
import dev.berth.replica.slots.LedgerLimits;
import dev.berth.routing.LoopLimits;
import dev.berth.routing.reserve.ReservationLimits;
import dev.berth.routing.slots.InstanceQueueLimits;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Limits of each part of an instance, from {@code berth.limits}.
 *
 * @param replica limits of its replicas
 * @param ledger limits of their ledgers
 * @param bodies shared limit of all incoming bodies; counts, so one object for each instance
 * @param instance shared limits of all routers; counts, so one object for each instance
 * @param loop limits of each router loop
 */
public record InstanceLimits(
    ReplicaLimits replica,
    LedgerLimits ledger,
    BodyMemoryLimits bodies,
    InstanceQueueLimits instance,
    LoopLimits loop) {

  public static InstanceLimits of(Settings limits) {
    return new InstanceLimits(
        replica(limits),
        ledger(limits),
        new BodyMemoryLimits(
            limits.get(LimitOptions.STREAM_WINDOW_BYTES),
            limits.get(LimitOptions.STREAM_BYTES_TOTAL),
            limits.get(LimitOptions.BUFFERED_BODY_BYTES_TOTAL)),
        new InstanceQueueLimits(
            limits.get(LimitOptions.MAX_QUEUED_TOTAL),
            limits.get(LimitOptions.MAX_QUEUED_BYTES),
            limits.get(LimitOptions.STREAM_BYTES_TOTAL)),
        loop(limits));
  }

  /**
   * Returns the limits of a router loop. The accept time is at most the cluster timeout: a node
   * that was suspected in between must not accept the message.
   */
  private static LoopLimits loop(Settings limits) {
    LoopLimits defaults = LoopLimits.DEFAULTS;
    Settings cluster = limits.find(InstanceOptions.CLUSTER);
    return new LoopLimits(
        limits.get(LimitOptions.PENDING_REQUESTS_PER_LOOP),
        limits.get(LimitOptions.STREAM_WINDOW_BYTES),
        cluster == null
            ? defaults.acceptNanos()
            : Math.min(defaults.acceptNanos(), cluster.get(ClusterOptions.TIMEOUT_MS).toNanos()),
        defaults.recallNanos(),
        defaults.cancelledCalls(),
        cluster == null
            ? defaults.unavailableNanos()
            : cluster.get(ClusterOptions.UNAVAILABLE_TIMEOUT_S).toNanos());
  }

  /** Returns the rules of a deployment's batches; null when its requests run alone. */
  static @Nullable BatchSettings batching(Settings deployment) {
    Settings batching = deployment.find(DeploymentConfig.BATCHING);
    return batching == null
        ? null
        : new BatchSettings(
            batching.get(BatchingOptions.MAX_BATCH_SIZE),
            batching.get(BatchingOptions.BATCH_WAIT_TIMEOUT_S).toNanos(),
            batching.get(BatchingOptions.MAX_CONCURRENT_BATCHES),
            batching.get(BatchingOptions.EAGER),
            Objects.requireNonNullElse(
                batching.find(BatchingOptions.MAX_BATCH_ITEMS), Integer.MAX_VALUE),
            Objects.requireNonNullElse(
                batching.find(BatchingOptions.MAX_BATCH_BYTES), Long.MAX_VALUE),
            batching.get(BatchingOptions.PREFERRED_BATCH_SIZES),
            batching.get(BatchingOptions.SAME));
  }

  /** Returns the limits of the token table, from {@code berth.reservations}. */
  static ReservationLimits reservations(Settings options) {
    return new ReservationLimits(
        options.get(ReservationOptions.MAX_HELD_TOTAL),
        options.get(ReservationOptions.MAX_HELD_PER_CALLER),
        options.get(ReservationOptions.MAX_ENDED),
        options.get(ReservationOptions.MAX_IDEMPOTENCY_KEYS),
        options.get(ReservationOptions.MAX_IDEMPOTENCY_KEYS_PER_CALLER),
        options.get(ReservationOptions.IDEMPOTENCY_KEY_TTL_S).toNanos());
  }

  private static ReplicaLimits replica(Settings limits) {
    ReplicaLimits defaults = ReplicaLimits.DEFAULTS;
    return new ReplicaLimits(
        defaults.cancelGraceNanos(),
        defaults.maxZombieRequests(),
        defaults.streamBufferBytes(),
        limits.get(LimitOptions.STREAM_IDLE_TIMEOUT_S).toNanos(),
        defaults.refusedRouters(),
        defaults.offerTtlNanos(),
        defaults.maxBufferedBodyBytes(),
        limits.get(MetricsOptions.STATS_TIMEOUT_MS).toNanos(),
        defaults.routePrefix(),
        limits.get(HttpOptions.ROOT_PATH),
        null);
  }

  /**
   * Returns the ledger limits. Ended tokens are retained for max(TTL, 60 s), so that refusals can
   * name the cause.
   */
  private static LedgerLimits ledger(Settings limits) {
    LedgerLimits defaults = LedgerLimits.DEFAULTS;
    return new LedgerLimits(
        limits.get(LimitOptions.MAX_RESERVATION_TTL_S).toNanos(),
        Math.max(
            limits.get(LimitOptions.MAX_RESERVATION_TTL_S).toNanos(), defaults.rememberNanos()),
        defaults.rememberedMax(),
        defaults.attemptNanos(),
        defaults.attemptsMax());
  }
}
