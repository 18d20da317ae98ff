package dev.berth.protocol.port;

/**
 * Who waits for the slots of a replica: the instance's router of its deployment, and routers
 * elsewhere that were refused. Called on the thread that frees a slot; must not block.
 */
@FunctionalInterface
public interface SlotObserver {
  /** No one waits. */
  SlotObserver NONE = slots -> {};

  /** No moment: no one waits who could take a slot now. */
  long NOBODY = Long.MAX_VALUE;

  /** Since when the first waits who could take a slot now, on the instance's clock, or NOBODY. */
  default long waitingSince() {
    return NOBODY;
  }

  /**
   * A request is about to complete. The observer may take its slot by {@link
   * Slots#completeAndHold}, and then returns true: the completion has been made.
   */
  default boolean completing(Slots slots) {
    return false;
  }

  /** A slot became free, or the max was raised: settled before this call. */
  void freed(Slots slots);
}
