package dev.berth.routing;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.Reservations.Problem;
import dev.berth.protocol.port.SlotLease;
import dev.berth.routing.explain.RequestRecorder;
import dev.berth.routing.slots.RoutedReplica;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A slot held at a replica, as the one call that is dispatched there sees it. {@link HeldSelection}
 * decides who gets it.
 */
abstract class HeldSlot extends RingEntry {
  final Leg leg; // what it is for
  final DeploymentRouter router;
  final RouterLoop loop;
  final RoutedReplica replica;
  final @Nullable SlotLease lease; // here
  final @Nullable SlotToken token; // elsewhere
  private final @Nullable AttemptId attempt; // elsewhere: what its lease is named
  final long madeNanos;
  long dispatchedNanos; // written by the dispatcher before its task, read by that task
  @Nullable RequestRecorder recorder; // when it is explained; the loop's
  @Nullable Problem refusedAs; // when its replica did not take the dispatch; that loop's

  HeldSlot(
      Leg leg,
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

  /** From its making to its dispatch; once it is dispatched, on the loop. */
  final long gapNanos() {
    return dispatchedNanos - madeNanos;
  }

  /** Gives the slot back, by whoever owns it: the selection, or the call it became. */
  final void releaseSlot() {
    if (recorder != null) {
      recorder.released();
    }
    if (lease != null) {
      lease.release();
      return;
    }
    giveBackCount();
    forget();
    releaseIfRemote();
  }

  /** A late word of its lease means nothing any more: what it names may be released. */
  final void forget() {
    if (attempt != null) {
      loop.run(() -> loop.heldAttempts().remove(attempt));
    }
  }

  /** Ends a lease elsewhere if its token has not been consumed; harmless if it has. */
  final void releaseIfRemote() {
    if (attempt != null) {
      loop.run(() -> loop.release(replica.info.address(), attempt));
    }
  }

  /** The slot elsewhere is no longer counted as ours. */
  final void giveBackCount() {
    if (!replica.here()) {
      replica.giveBack();
      router.pumpIfWaiting();
    }
  }
}
