package dev.berth.testkit;

/**
 * The slots of a replica, or of all replicas of a deployment that have not stopped.
 *
 * @param slots how many there are: {@code max_ongoing_requests}, of all replicas together
 * @param running taken by requests, cancelled ones that have not settled included
 * @param reserved held by selections that were neither dispatched nor closed
 * @param granted slots given since the start
 * @param completed of these, ended because their request was done
 * @param released of these, ended because their selection was closed
 * @param expired of these, ended because the lease of their selection ran out
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

  /** Slots that are not taken. */
  public int free() {
    return Math.max(0, slots - running - reserved);
  }

  /** Whether no slot is taken. */
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
