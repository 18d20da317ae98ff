package dev.berth.replica.slots;

import java.time.Duration;

/**
 * The bounds of one ledger.
 *
 * @param maxTtlNanos longest time to live of a lease; asked-for times are cut to it; default 300 s
 * @param rememberNanos how long ended tokens and seen attempts are remembered, so that refusals say
 *     which and late duplicates do not run; default 60 s
 * @param rememberedMax how many of them at most, the oldest forgotten first; default 16 384
 */
public record LedgerLimits(long maxTtlNanos, long rememberNanos, int rememberedMax) {
  /** The defaults above. */
  public static final LedgerLimits DEFAULTS =
      new LedgerLimits(Duration.ofSeconds(300).toNanos(), Duration.ofSeconds(60).toNanos(), 16_384);
}
