package dev.berth.routing.slots;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.port.Slots;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A replica incarnation as seen by the routers of one instance; exists while snapshots name it.
 * Reports, offers and probes concern remote replicas and have no effect on local ones.
 */
public abstract sealed class RoutedReplica permits LocalReplica, RemoteReplica {
  public final ReplicaInfo info;
  private volatile boolean routable; // grants may be tried
  private volatile boolean gone; // stopped, dead, or no longer in the snapshot
  private volatile boolean avoided; // blocked or suspected, while another is not
  private @Nullable ReplicaRanker rankedBy; // guarded by its router's lock
  private volatile ReplicaRanker.@Nullable Listener listener; // receives its reply times

  RoutedReplica(ReplicaInfo info, boolean routable) {
    this.info = info;
    this.routable = routable;
  }

  /** Returns the ledger of a local replica; null for a remote one. */
  @Nullable Slots slots() {
    return null;
  }

  /** Returns whether the replica belongs to this instance. */
  public final boolean here() {
    return slots() != null;
  }

  /** Returns the requests running or reserved: exact if local, an estimate if remote. */
  public abstract int ongoing();

  /** Returns the number of slots. */
  public abstract int maxOngoing();

  // --- acquiring slots: called by Pick only ---

  /**
   * Acquires a slot.
   *
   * @param holdNanos the hold time in nanoseconds of a local slot, or {@link Grant#RUN}
   * @return null if no slot is free, or none is known to be
   */
  abstract @Nullable Grant take(long holdNanos);

  /**
   * Completes a request of a local replica and holds its slot in one step; null if that is
   * impossible.
   */
  @Nullable Grant takeCompleted(long holdNanos) {
    return null;
  }

  // --- after acquiring ---

  /** Releases an unused slot that was acquired to run on. */
  public void untake() {
    giveBack();
  }

  /**
   * Stops counting a remote slot of this instance: its request ended, was refused, or was not sent.
   */
  public void giveBack() {}

  /** Counts a remote slot that another instance's router transferred to this one. */
  public void takeOver() {}

  /** Declines an offered slot. */
  void decline(RemoteReplica.Offer offer) {}

  /**
   * Records a load report of the replica.
   *
   * @return whether a slot may be free now that was not known to be
   */
  public boolean reported(long load) {
    return false;
  }

  /**
   * Counts a remote replica as full until its next report. Called after a missing reply or a failed
   * send.
   */
  public void unanswered() {}

  /** Returns the age of the last report in nanoseconds; 0 if local, -1 before the first report. */
  public long reportAgeNanos() {
    return 0;
  }

  /** Permits one request despite the estimate, once the back-off has passed. */
  public boolean probeIfDue(long now, RandomGenerator random) {
    return false;
  }

  /** Returns the ranker's listener for reply times; usually null. */
  public ReplicaRanker.@Nullable Listener listener() {
    return listener;
  }

  /** Registers the replica with a ranker; no effect if that ranker is registered already. */
  public void rankedBy(ReplicaRanker ranker) {
    if (rankedBy != ranker) {
      rankedBy = ranker;
      listener = ranker.joined(info.replicaId());
    }
  }

  // --- addresses ---

  /** Returns the replica's address for messages from this loop. */
  public abstract ReplicaAddress addressFor(int loop);

  /** Returns the bus address of {@link #addressFor}, created once. */
  public abstract String busAddressFor(int loop);

  public boolean routable() {
    return routable && !gone;
  }

  public boolean gone() {
    return gone;
  }

  /** Returns whether a waiter may receive a freed slot of the replica. */
  boolean eligible() {
    return routable() && !avoided;
  }

  public void avoid(boolean newAvoided) {
    avoided = newAvoided;
  }

  /**
   * Returns whether the replica's handlers run on a blocked loop, or on a suspected instance. A
   * spread replica runs on its requester's loop.
   */
  public abstract boolean isOn(BlockedLoops blocked);

  public void route(boolean newRoutable) {
    routable = newRoutable;
  }

  /** Marks the replica as removed. */
  public void leave() {
    gone = true;
  }
}
