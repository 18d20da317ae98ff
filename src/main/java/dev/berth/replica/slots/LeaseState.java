package dev.berth.replica.slots;

import dev.berth.protocol.Refusal;
import org.jspecify.annotations.Nullable;

/** What a lease is at one moment: an immutable value, replaced whole by CAS. */
sealed interface LeaseState {

  /** Held until a deadline on the nano clock. */
  record Active(long deadlineNanos) implements LeaseState {}

  /** Over, and how. */
  enum Ended implements LeaseState {
    CONSUMED(Refusal.ALREADY_USED),
    RELEASED(Refusal.RELEASED),
    EXPIRED(Refusal.EXPIRED);

    private final Refusal refusal;

    Ended(Refusal refusal) {
      this.refusal = refusal;
    }
  }

  /** What a late user of the lease is told; null while it is active. */
  default @Nullable Refusal refusal() {
    return this instanceof Ended ended ? ended.refusal : null;
  }
}
