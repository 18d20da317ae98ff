package dev.berth.routing.slots;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.port.Slots;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A replica incarnation as one instance's routers see it; lives as long as snapshots name it. What
 * is said only of one elsewhere is nothing to one that is here.
 */
public abstract sealed class RoutedReplica permits LocalReplica, RemoteReplica {
  public final ReplicaInfo info;
  private volatile boolean routable; // grants may be tried
  private volatile boolean gone; // stopped, dead, or no longer in the snapshot
  private volatile boolean
      avoided; // its loop is blocked, or its instance suspected, and another's is not
  private @Nullable ReplicaRanker rankedBy; // under its router's lock
  private volatile ReplicaRanker.@Nullable Listener listener; // of its answers

  RoutedReplica(ReplicaInfo info, boolean routable) {
    this.info = info;
    this.routable = routable;
  }

  /** Its ledger, when it is of this instance. */
  @Nullable Slots slots() {
    return null;
  }

  /** Whether it is of this instance. */
  public final boolean here() {
    return slots() != null;
  }

  /** Requests running or reserved: exact here, an estimate elsewhere. */
  public abstract int ongoing();

  /** Slots. */
  public abstract int maxOngoing();

  // --- its slots: for Pick alone ---

  /**
   * Takes a slot.
   *
   * @param holdNanos how long it is held here, or {@link Grant#RUN}
   * @return null when there is none free, or none is known of
   */
  abstract @Nullable Grant take(long holdNanos);

  /** Takes the slot of a request that is about to complete here, which it then has; or null. */
  @Nullable Grant takeCompleted(long holdNanos) {
    return null;
  }

  // --- what becomes of them ---

  /** A slot to run on was not used. */
  public void untake() {
    giveBack();
  }

  /** What was taken elsewhere is no longer ours: ended, refused, or not sent. */
  public void giveBack() {}

  /** A slot of it that another instance's router held is ours now. */
  public void takeOver() {}

  /** An offered slot is not wanted. */
  void decline(RemoteReplica.Offer offer) {}

  /**
   * Takes note of what it says of its slots.
   *
   * @return whether it may have room now that was not known of
   */
  public boolean reported(long load) {
    return false;
  }

  /** What was sent to it has no answer yet, or was not even sent: it counts as full for now. */
  public void unanswered() {}

  /** Since it last reported; 0 where that is not needed, -1 when it never has. */
  public long reportAgeNanos() {
    return 0;
  }

  /** Lets one request through against the estimate when its back-off is over. */
  public boolean probeIfDue(long now, RandomGenerator random) {
    return false;
  }

  /** Whom the ranker has told of its answers; usually nobody. */
  public ReplicaRanker.@Nullable Listener listener() {
    return listener;
  }

  /** This ranker knows of it from now on, if it did not before. */
  public void rankedBy(ReplicaRanker ranker) {
    if (rankedBy != ranker) {
      rankedBy = ranker;
      listener = ranker.joined(info.replicaId());
    }
  }

  // --- where it is ---

  /** Where this loop sends messages for it. */
  public abstract ReplicaAddress addressFor(int loop);

  /** The bus address of {@link #addressFor}, made once. */
  public abstract String busAddressFor(int loop);

  public boolean routable() {
    return routable && !gone;
  }

  public boolean gone() {
    return gone;
  }

  /** Whether a freed slot of it may go to a waiter. */
  boolean eligible() {
    return routable() && !avoided;
  }

  public void avoid(boolean newAvoided) {
    avoided = newAvoided;
  }

  /**
   * Whether its handlers run on a blocked loop, or on an instance that is suspected; one that is
   * spread runs on its requester's loop.
   */
  public abstract boolean isOn(BlockedLoops blocked);

  public void route(boolean newRoutable) {
    routable = newRoutable;
  }

  /** It is not there any more. */
  public void leave() {
    gone = true;
  }
}
