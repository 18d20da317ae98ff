package dev.berth.routing.slots;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.port.BatchSeats;
import dev.berth.protocol.port.Slots;
import java.util.Set;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * One replica as the routers of one instance see it, while routing snapshots name it. Reports,
 * offers and probes concern remote replicas and have no effect on local replicas.
 */
public abstract sealed class RoutedReplica permits LocalReplica, RemoteReplica {
  public final ReplicaInfo info;

  /** Limits of the replica beside its slots. */
  public final CallLimits limits = new CallLimits();

  private final Set<String> batched; // methods that take batches
  private volatile boolean routable; // the router may send requests to it
  private volatile boolean gone; // stopped, dead, or no longer in the snapshot
  private volatile boolean avoided; // blocked or suspected, while another replica is not
  private @Nullable ReplicaRanker rankedBy; // guarded by its router's lock
  private volatile ReplicaRanker.@Nullable Listener listener; // receives the replica's reply times

  RoutedReplica(ReplicaInfo info, boolean routable) {
    this.info = info;
    String methods = info.metadata().get(ReplicaInfo.BATCHED);
    this.batched = methods == null ? Set.of() : Set.of(methods.split(",", -1));
    this.routable = routable;
  }

  /** Returns the ledger of a local replica; null for a remote one. */
  @Nullable Slots slots() {
    return null;
  }

  /** Returns whether requests of a method join batches. */
  public final boolean batches(String method) {
    return batched.contains(method);
  }

  /** Returns the batches of a local replica; null for a remote one, and without batches. */
  @Nullable BatchSeats batches() {
    return null;
  }

  /** Returns whether the replica belongs to this instance. */
  public final boolean here() {
    return slots() != null;
  }

  /** Returns the requests that run or reserve a slot: exact if local, an estimate if remote. */
  public abstract int ongoing();

  /** Returns the number of slots. */
  public abstract int maxOngoing();

  // --- acquiring slots: called by Pick only ---

  /**
   * Acquires slots.
   *
   * @param holdNanos the hold time in nanoseconds of local slots, or {@link Grant#RUN}
   * @param cost number of slots
   * @return null if fewer slots of a local replica are free, or a remote replica seems full
   */
  abstract @Nullable Grant take(long holdNanos, int cost);

  /**
   * Completes a request of a local replica and acquires slots in one step. Returns null if that is
   * impossible.
   *
   * @param done slots of the completed request
   */
  @Nullable Grant takeCompleted(int done, long holdNanos, int cost) {
    return null;
  }

  /** Keeps the free slots of a local replica for a waiter: remote routers get none meanwhile. */
  void keep(boolean forWaiter) {}

  // --- after acquiring ---

  /** Releases unused slots that were acquired to run on. */
  public void untake(int cost) {
    giveBack(cost);
  }

  /**
   * Stops counting remote slots of this instance, because their request ended, was refused or was
   * not sent.
   */
  public void giveBack(int cost) {}

  /** Counts remote slots that another instance's router transferred to this one. */
  public void takeOver(int cost) {}

  /** Returns whether a number of slots within a range is offered together. */
  boolean isOffered(int from, int to) {
    return false;
  }

  /** Declines all offers that no waiter used. */
  public void declineOffers() {}

  /** Declines an offered slot. */
  void decline(RemoteReplica.Offer offer) {}

  /**
   * Records a load report of the replica.
   *
   * @return whether the report is not outdated and shows a free slot
   */
  public boolean recordLoadReport(long load) {
    return false;
  }

  /**
   * Counts a remote replica as full until its next report or probe. Called after a missing reply or
   * a failed send.
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

  /** Returns the bus address of {@link #addressFor}; the string is created once. */
  public abstract String busAddressFor(int loop);

  public boolean routable() {
    return routable && !gone;
  }

  public boolean isRemoved() {
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
   * Returns whether the replica's handlers run on a blocked loop, or on a suspected instance. False
   * for a local replica with a handler on every loop, because it runs on the loop of each request.
   */
  public abstract boolean isOn(RoutingExclusions blocked);

  public void route(boolean newRoutable) {
    routable = newRoutable;
  }

  /** Marks the replica as removed. */
  public void leave() {
    gone = true;
  }
}
