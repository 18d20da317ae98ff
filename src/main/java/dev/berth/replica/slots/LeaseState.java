package dev.berth.replica.slots;

import dev.berth.protocol.Refusal;
import org.jspecify.annotations.Nullable;

/** Immutable state of a lease. A transition replaces the whole value by CAS. */
sealed interface LeaseState {

  /** An active lease with its deadline on the nano clock. */
  record ActiveLease(long deadlineNanos) implements LeaseState {}

  /** The end of a lease, by cause. */
  enum EndedLease implements LeaseState {
    CONSUMED(Refusal.ALREADY_USED),
    RELEASED(Refusal.RELEASED),
    EXPIRED(Refusal.EXPIRED);

    private final Refusal refusal;

    EndedLease(Refusal refusal) {
      this.refusal = refusal;
    }
  }

  /** Returns the refusal for a late use of the lease; null while the lease is active. */
  default @Nullable Refusal refusal() {
    return this instanceof EndedLease ended ? ended.refusal : null;
  }
}
