package dev.berth.routing.reserve;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage.SlotReserved;
import dev.berth.protocol.port.Reservations.Problem;
import dev.berth.protocol.port.Reservations.Reservation;
import dev.berth.routing.HeldSelection;
import org.jspecify.annotations.Nullable;

/** What a token stands for: a selection while it is open, and how that ended for a while after. */
final class TokenEntry {
  final String token;
  final DeploymentId deployment;
  final String caller;
  final long ttlNanos;
  private volatile @Nullable HeldSelection selection; // dropped when it is over
  private volatile @Nullable Problem ended;
  private volatile long forgetNanos;
  private @Nullable AttemptId givenTo; // whose request at another instance has its slot
  private @Nullable SlotReserved given; // and what that was told
  private long givenNanos; // and when; all of the loop that is asked

  TokenEntry(String token, String caller, HeldSelection selection) {
    this.token = token;
    this.deployment = selection.deployment();
    this.caller = caller;
    this.ttlNanos = selection.ttlNanos();
    this.selection = selection;
  }

  /** The selection; null once it is known to be over. */
  @Nullable HeldSelection selection() {
    return selection;
  }

  /** How it ended; null while it is open. */
  @Nullable Problem ended() {
    HeldSelection held = selection;
    return held == null ? ended : held.ended();
  }

  /** Notes its end; false when that was noted before. */
  synchronized boolean end(Problem how, long forgetAtNanos) {
    if (selection == null) {
      return false;
    }
    forgetNanos = forgetAtNanos;
    ended = how;
    selection = null;
    return true;
  }

  /** It was taken for a request that could not run on it after all. */
  void endedInstead(Problem how) {
    ended = how;
  }

  /** Its slot was handed over to another instance's request. */
  void givenTo(AttemptId asker, SlotReserved slot, long now) {
    givenTo = asker;
    given = slot;
    givenNanos = now;
  }

  /** What this one was handed over, with what is left of it; null when it was not. */
  @Nullable SlotReserved givenTo(AttemptId asker, long now) {
    SlotReserved slot = given;
    if (slot == null || !asker.equals(givenTo)) {
      return null;
    }
    long left = Math.max(0, slot.ttlMicros() - (now - givenNanos) / 1_000);
    return new SlotReserved(
        slot.callId(), slot.attempt(), slot.target(), slot.token(), left, slot.load());
  }

  boolean forgettable(long now) {
    return forgetNanos - now <= 0;
  }

  /** As it is now; null when it is over. */
  @Nullable Reservation reservation() {
    HeldSelection held = selection;
    if (held == null) {
      return null;
    }
    long left = held.leaseRemaining().toNanos();
    if (left <= 0) {
      return null;
    }
    return new Reservation(
        token,
        deployment,
        held.replicaId(),
        held.nodeId(),
        held.host().orElse(null),
        held.port(),
        ttlNanos,
        left);
  }
}
