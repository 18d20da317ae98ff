package dev.berth.protocol;

/** Permission of a request to run on a replica. */
public sealed interface Admission {
  /**
   * Returns whether the sender acquired a RUNNING slot from the ledger; only inside an instance.
   */
  default boolean isHeld() {
    return false;
  }

  /**
   * The sender acquired a RUNNING slot for the request directly from the ledger. Valid only inside
   * an instance, for its own replicas; a replica refuses a request from another instance that
   * claims this.
   */
  enum AcquiredSlot implements Admission {
    HELD;

    @Override
    public boolean isHeld() {
      return true;
    }
  }

  /** A slot as {@link AcquiredSlot#HELD}, and a seat in a batch of the replica. */
  record BatchSeat(BatchGroup group) implements Admission {
    @Override
    public boolean isHeld() {
      return true;
    }
  }

  /** The lease of a selection, consumed on arrival. */
  record Token(SlotToken token) implements Admission {}

  /**
   * No slot was acquired before: the request runs if a slot is free on arrival, else it is refused.
   */
  enum IfFree implements Admission {
    IF_FREE
  }

  /**
   * The request takes no slot, and reaches its replica while all slots are in use. Refused unless
   * the handler permits such requests, and beyond the number that it permits.
   */
  enum NoSlot implements Admission {
    NO_SLOT
  }
}
