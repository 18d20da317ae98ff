package dev.berth.routing;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.protocol.port.SlotLease;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.routing.slots.RoutedReplica;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Slots held at a replica, as used by the one call that is dispatched there. {@link
 * LeasedSelection} decides which call that is.
 */
abstract class HeldSlot extends RingEntry {
  final GangMember leg; // parameters of the choose
  final DeploymentRouter router;
  final RouterLoop loop;
  final RoutedReplica replica;
  final @Nullable SlotLease lease; // set if the replica is local
  final @Nullable SlotToken token; // set if the replica is remote
  private final @Nullable AttemptId attempt; // set if remote: attempt id of the lease
  final long madeNanos;
  long dispatchedNanos; // written by the dispatcher before its task, read by that task
  @Nullable RequestRecorder recorder; // set if explained; confined to the loop
  // why the replica refused the dispatch; confined to the dispatching loop
  @Nullable ReservationProblem refusedAs;

  HeldSlot(
      GangMember leg,
      RouterLoop loop,
      RoutedReplica replica,
      @Nullable SlotLease lease,
      @Nullable SlotToken token,
      @Nullable AttemptId attempt) {
    this.leg = leg;
    this.router = leg.router();
    this.loop = loop;
    this.replica = replica;
    this.lease = lease;
    this.token = token;
    this.attempt = attempt;
    this.madeNanos = loop.now();
    if (attempt != null) {
      loop.heldAttempts().add(attempt);
    }
  }

  final AttemptId attempt() {
    return Objects.requireNonNull(attempt);
  }

  /** Returns nanoseconds from creation to dispatch. Call after the dispatch, on the loop. */
  final long gapNanos() {
    return dispatchedNanos - madeNanos;
  }

  /** Releases the slot for its owner: the selection, or the call that it became. */
  final void releaseSlot() {
    if (recorder != null) {
      recorder.recordRelease();
    }
    if (lease != null) {
      lease.release();
      return;
    }
    giveBackCount();
    forget();
    releaseIfRemote();
  }

  /** Forgets the attempt id of the lease; a late reply with that id then releases the lease. */
  final void forget() {
    if (attempt != null) {
      loop.run(() -> loop.heldAttempts().remove(attempt));
    }
  }

  /** Releases a remote lease whose token has not been consumed; no effect on a consumed one. */
  final void releaseIfRemote() {
    if (attempt != null) {
      loop.run(() -> loop.release(replica.info.address(), attempt));
    }
  }

  /** Stops counting a remote slot as used by this instance. */
  final void giveBackCount() {
    if (!replica.here()) {
      replica.giveBack(leg.cost());
      router.pumpIfWaiting();
    }
  }
}
