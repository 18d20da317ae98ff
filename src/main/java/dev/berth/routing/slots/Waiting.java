package dev.berth.routing.slots;

import dev.berth.api.spi.ReplicaRanker;

/** A request that waits for a slot: a call or a choose. */
public interface Waiting extends ReplicaRanker.Asker {

  /** Returns the ranking key. The pump reads it too, on any thread. */
  @Override
  default long key() {
    return NO_KEY;
  }

  /** Returns the time at which the request received its place, on the instance's clock. */
  long sinceNanos();

  /** Returns the index of the request's event loop. */
  int loopIndex();

  /** Returns whether the request accepts a slot of this replica. */
  boolean accepts(RoutedReplica replica);

  /**
   * Returns whether {@link #accepts} can be false for a routable replica; then the request blocks
   * none behind it.
   */
  boolean picky();

  /**
   * Returns whether the request's loop runs no tasks now. The request is then skipped and blocks
   * none behind it, because a granted slot would only lie unused.
   */
  boolean paused();

  /** Returns whether no acceptable replica will ever have a slot; then the wait fails. */
  default boolean hopeless() {
    return false;
  }

  /** Returns the hold time of a granted slot, in nanoseconds, until the request uses it. */
  long holdNanos();

  /**
   * Receives a slot. Called by the pump on any thread; must only post the grant to the request's
   * loop.
   */
  void granted(Grant grant);

  /**
   * Notifies that the request left the queue, granted or not, and returns its share of the limits.
   */
  void left();
}
