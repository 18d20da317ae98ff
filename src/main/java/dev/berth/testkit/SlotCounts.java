package dev.berth.testkit;

/**
 * The slots of a replica, or of all replicas of a deployment that have not stopped.
 *
 * @param slots capacity: the sum of {@code max_ongoing_requests} over the replicas
 * @param running slots of requests, including cancelled ones that have not settled
 * @param reserved slots of selections that were neither dispatched nor closed
 * @param granted number of grants since the start
 * @param completed number of granted slots that ended because their request settled
 * @param released number of granted slots that ended because their selection was closed
 * @param expired number of granted slots that ended because the lease of their selection expired
 */
public record SlotCounts(
    int slots,
    int running,
    int reserved,
    long granted,
    long completed,
    long released,
    long expired) {
  static final SlotCounts NONE = new SlotCounts(0, 0, 0, 0, 0, 0, 0);

  /** Returns the number of free slots. */
  public int free() {
    return Math.max(0, slots - running - reserved);
  }

  /** Returns whether all slots are free. */
  public boolean atRest() {
    return running == 0 && reserved == 0;
  }

  SlotCounts plus(SlotCounts other) {
    return new SlotCounts(
        slots + other.slots,
        running + other.running,
        reserved + other.reserved,
        granted + other.granted,
        completed + other.completed,
        released + other.released,
        expired + other.expired);
  }
}
