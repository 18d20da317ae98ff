package dev.berth.routing.reserve;

import dev.berth.api.DeploymentId;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage.SlotReserved;
import dev.berth.protocol.port.Reservations.Reservation;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.routing.LeasedSelection;
import org.jspecify.annotations.Nullable;

/** The record of a token: an open selection, and for a time after its end how it ended. */
final class TokenEntry {
  final String token;
  final DeploymentId deployment;
  final String caller;
  final long ttlNanos;
  private volatile @Nullable LeasedSelection selection; // null after its end
  private volatile @Nullable ReservationProblem ended;
  private volatile long forgetNanos;
  private @Nullable AttemptId givenTo; // remote request that received the slot
  private @Nullable SlotReserved given; // reply to that request
  private long givenNanos; // time of that reply; all three confined to loop 0

  TokenEntry(String token, String caller, LeasedSelection selection) {
    this.token = token;
    this.deployment = selection.deployment();
    this.caller = caller;
    this.ttlNanos = selection.ttlNanos;
    this.selection = selection;
  }

  /** Returns the selection; null once its end is recorded. */
  @Nullable LeasedSelection selection() {
    return selection;
  }

  /** Returns how the reservation ended; null while it is open. */
  @Nullable ReservationProblem endReason() {
    LeasedSelection held = selection;
    return held == null ? ended : held.endReason();
  }

  /** Records the end; returns false if it was recorded before. */
  synchronized boolean end(ReservationProblem how, long forgetAtNanos) {
    if (selection == null) {
      return false;
    }
    forgetNanos = forgetAtNanos;
    ended = how;
    selection = null;
    return true;
  }

  /** Corrects the end: a request took the slot but could not run on it. */
  void endedInstead(ReservationProblem how) {
    ended = how;
  }

  /** Records the transfer of the slot to a request at another instance. */
  void givenTo(AttemptId asker, SlotReserved slot, long now) {
    givenTo = asker;
    given = slot;
    givenNanos = now;
  }

  /**
   * Returns the earlier reply to this request, with its present remaining time; null if there is
   * none.
   */
  @Nullable SlotReserved givenTo(AttemptId asker, long now) {
    SlotReserved slot = given;
    if (slot == null || !asker.equals(givenTo)) {
      return null;
    }
    long left = Math.max(0, slot.ttlMicros() - (now - givenNanos) / 1_000);
    return new SlotReserved(
        slot.callId(), slot.attempt(), slot.target(), slot.token(), left, slot.load(), slot.cost());
  }

  boolean forgettable(long now) {
    return forgetNanos - now <= 0;
  }

  /** Returns the current state; null after the end. */
  @Nullable Reservation reservation() {
    LeasedSelection held = selection;
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
