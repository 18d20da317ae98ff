package dev.berth.view;

/**
 * A ledger as operators see it, read without stopping it.
 *
 * @param replicaId whose
 * @param epoch which incarnation
 * @param maxOngoing slots
 * @param running requests running
 * @param reserved slots held by leases
 * @param draining whether nothing new is granted
 * @param granted slots granted since start
 * @param completed ended by completion
 * @param released ended by release
 * @param expired ended by expiry
 * @param zombies cancelled requests that have not settled within their grace
 * @param lastAudit whether granted = completed + released + expired + ongoing
 */
public record LedgerView(
    String replicaId,
    long epoch,
    int maxOngoing,
    int running,
    int reserved,
    boolean draining,
    long granted,
    long completed,
    long released,
    long expired,
    int zombies,
    LastAudit lastAudit) {

  /** The verdict of the last audit. */
  public Audit audit() {
    return lastAudit.verdict();
  }

  /** An audit's verdict. */
  public enum Audit {
    /** None was made yet. */
    PENDING,
    /** The equation held while nothing moved. */
    CLEAN,
    /** Slots moved during each read, or a difference may be a thread's that is not done. */
    BUSY,
    /** The equation failed, and not only for a moment: a defect. Stands until it holds again. */
    MISMATCH
  }

  /**
   * What the audits of a ledger said. Ages are in nanoseconds at the moment of the view; -1 stands
   * for never.
   *
   * @param verdict the last one's
   * @param ageNanos of the last one
   * @param cleanAgeNanos of the last one that was clean
   * @param findings mismatches found since the ledger was made: each that came, or changed
   * @param difference in the last mismatch found, slots granted of which no end was counted;
   *     negative when ends were counted of slots that were not granted
   * @param findingAgeNanos since the last mismatch was found
   */
  public record LastAudit(
      Audit verdict,
      long ageNanos,
      long cleanAgeNanos,
      int findings,
      long difference,
      long findingAgeNanos) {}
}
