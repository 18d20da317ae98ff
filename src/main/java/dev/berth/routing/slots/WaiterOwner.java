package dev.berth.routing.slots;

import dev.berth.api.spi.ReplicaRanker;

/** A request that waits for a slot: a call, or a reservation that chooses a replica. */
public interface WaiterOwner extends ReplicaRanker.Asker {

  /** Returns the ranking key. The pump also reads the key, on any thread. */
  @Override
  default long key() {
    return NO_KEY;
  }

  /** Returns the time at which the request received its place, on the instance's clock. */
  long sinceNanos();

  /** Returns the index of the request's event loop. */
  int loopIndex();

  /** Returns whether the request accepts slots of this replica. */
  boolean accepts(RoutedReplica replica);

  /** Returns the number of slots of one replica that the request needs together. */
  default int cost() {
    return 1;
  }

  /** Returns the name of the limit that the request counts for, beside its slot; empty for none. */
  default String limit() {
    return "";
  }

  /**
   * Returns whether {@link #accepts} can be false for a routable replica. If so, requests behind
   * this request may get a slot before it.
   */
  boolean picky();

  /**
   * Returns whether the request's loop runs no tasks now. If so, the pump skips the request,
   * because a granted slot would stay unused.
   */
  boolean paused();

  /**
   * Returns whether the wait ends without a slot: no replica that it accepts will have one, or it
   * leaves for another deployment. Called after no slot was free.
   */
  default boolean hopeless() {
    return false;
  }

  /** Returns the hold time of a granted slot, in nanoseconds, until the request uses it. */
  long holdNanos();

  /**
   * Receives a slot. The pump calls this method on any thread. The method must only post the grant
   * to the request's loop.
   */
  void onGranted(Grant grant);

  /**
   * Notifies that the request left the queue, with or without a slot. The method gives back the
   * request's share of the limits.
   */
  void onLeftQueue();
}
