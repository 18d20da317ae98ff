package dev.berth.routing.slots;

import org.jspecify.annotations.Nullable;

/** Source of the slots that the pump of a {@link WaiterQueue} grants. */
public interface GrantSource {
  /**
   * Returns the slots of a waiter, or null if no replica that the waiter accepts has as many free.
   *
   * @param kept a replica to leave out, set aside for another waiter; null for none
   */
  @Nullable Grant grantFor(WaiterOwner owner, @Nullable RoutedReplica kept);

  /** Returns whether a replica has a known limit of this name. */
  default boolean isLimited(String limit) {
    return false;
  }

  /** Returns whether waiters may leave the queue although no slot is free. */
  default boolean waitersMayLeave() {
    return false;
  }

  /** Returns the time during which others may overtake a waiter of several slots. */
  default long maxOvertakeNanos() {
    return Long.MAX_VALUE;
  }

  /** Returns the time on the nano clock. */
  default long now() {
    return 0;
  }

  /**
   * Returns the free slots of the replica with most of them, beside offered ones; at most 65 535.
   */
  default int mostFree() {
    return 65_535;
  }

  /**
   * Returns the replica to set aside for a waiter; null if none can hold it.
   *
   * @param before the replica set aside so far, which is preferred
   */
  default @Nullable RoutedReplica keptFor(WaiterOwner owner, @Nullable RoutedReplica before) {
    return null;
  }

  /** Returns whether a number of slots within a range is offered together. */
  default boolean isOffered(int from, int to) {
    return false;
  }

  /** Declines the offered slots: the round looked at each waiter, and none accepts them. */
  default void declineOffers() {}
}
