package dev.berth.protocol.port;

import dev.berth.protocol.BatchGroup;

/**
 * Observes the slots of a replica for waiters: those of the local router of the deployment, and
 * remote routers that were refused. Called on the thread that frees a slot; must not block.
 */
@FunctionalInterface
public interface SlotObserver {
  /** An observer without waiters. */
  SlotObserver NONE = slots -> {};

  /** Result of {@link #waitingSince} when no waiter could take a slot now. */
  long NOBODY = Long.MAX_VALUE;

  /**
   * Returns the time since which the first waiter that could take a slot now has waited, on the
   * instance's nano clock, or {@link #NOBODY}.
   */
  default long waitingSince() {
    return NOBODY;
  }

  /** Returns the number of slots that all waiters of the deployment need here. */
  default int slotsNeeded() {
    return 0;
  }

  /**
   * Notifies the observer that a request is about to complete. The observer may acquire its slots
   * by {@link Slots#completeAndHold}, and then returns true: the completion is done.
   *
   * @param done slots of the request
   */
  default boolean completing(Slots slots, int done) {
    return false;
  }

  /** Returns the time during which younger waiters may overtake one of several slots. */
  default long maxOvertakeNanos() {
    return Long.MAX_VALUE;
  }

  /** Notifies the observer that a remote request got slots without an offer. */
  default void overtaking() {}

  /**
   * Notifies the observer of a batch that the replica starts with loose requests. The observer may
   * seat waiters with the same key until it returns; the replica then seals the batch.
   */
  default void onBatchOpen(BatchGroup group) {}

  /**
   * Notifies the observer that a slot became free, or that the maximum was raised or became 0,
   * after the state has changed.
   */
  void onSlotFreed(Slots slots);
}
