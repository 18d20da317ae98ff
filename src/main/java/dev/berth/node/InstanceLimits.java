package dev.berth.node;

import dev.berth.config.LimitOptions;
import dev.berth.config.ReservationOptions;
import dev.berth.replica.BodyBounds;
import dev.berth.replica.ReplicaLimits;
import dev.berth.replica.slots.LedgerLimits;
import dev.berth.routing.LoopLimits;
import dev.berth.routing.reserve.ReservationLimits;
import dev.berth.routing.slots.InstanceBounds;

/**
 * What {@code berth.limits} means to each part of an instance.
 *
 * @param replica bounds of its replicas
 * @param ledger bounds of their ledgers
 * @param bodies what the bodies that arrive at them may hold together; counts, so one for each
 *     instance
 * @param instance what its routers may hold together; counts, so one for each instance
 * @param loop bounds of each router loop
 */
public record InstanceLimits(
    ReplicaLimits replica,
    LedgerLimits ledger,
    BodyBounds bodies,
    InstanceBounds instance,
    LoopLimits loop) {

  public static InstanceLimits of(LimitOptions limits) {
    return new InstanceLimits(
        replica(limits),
        ledger(limits),
        new BodyBounds(
            limits.streamWindowBytes(), limits.streamBytesTotal(), limits.bufferedBodyBytesTotal()),
        new InstanceBounds(
            limits.maxQueuedTotal(), limits.maxQueuedBytes(), limits.streamBytesTotal()),
        new LoopLimits(limits.pendingRequestsPerLoop(), limits.streamWindowBytes()));
  }

  /** What {@code berth.reservations} means to the table of tokens. */
  static ReservationLimits of(ReservationOptions options) {
    return new ReservationLimits(
        options.maxHeldTotal(),
        options.maxHeldPerCaller(),
        options.maxEnded(),
        options.maxKeysTotal(),
        options.maxKeysPerCaller(),
        options.keyTtl().toNanos());
  }

  private static ReplicaLimits replica(LimitOptions limits) {
    ReplicaLimits defaults = ReplicaLimits.DEFAULTS;
    return new ReplicaLimits(
        defaults.cancelGraceNanos(),
        defaults.maxZombieRequests(),
        defaults.streamBufferBytes(),
        limits.streamIdleTimeout().toNanos(),
        defaults.refusedRouters(),
        defaults.offerTtlNanos(),
        defaults.maxBufferedBodyBytes());
  }

  /** Ended tokens are remembered for max(TTL, 60 s), so that refusals say which. */
  private static LedgerLimits ledger(LimitOptions limits) {
    LedgerLimits defaults = LedgerLimits.DEFAULTS;
    return new LedgerLimits(
        limits.maxReservationTtl().toNanos(),
        Math.max(limits.maxReservationTtl().toNanos(), defaults.rememberNanos()),
        defaults.rememberedMax());
  }
}
