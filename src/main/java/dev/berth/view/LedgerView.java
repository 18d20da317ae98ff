package dev.berth.view;

/**
 * Snapshot of a slot ledger for operators, taken without stopping the ledger.
 *
 * @param replicaId replica of the ledger
 * @param epoch incarnation of the replica
 * @param maxOngoing number of slots
 * @param running requests running
 * @param reserved slots held by leases
 * @param draining whether new grants are refused
 * @param granted slots granted since start
 * @param completed slots ended by completion
 * @param released slots ended by release
 * @param expired slots ended by expiry
 * @param zombies cancelled requests that have not settled within their grace period
 * @param lastAudit check of granted = completed + released + expired + ongoing
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

  /** Returns the verdict of the last audit. */
  public Audit audit() {
    return lastAudit.verdict();
  }

  /** Verdict of an audit. */
  public enum Audit {
    /** No audit has run yet. */
    PENDING,
    /** The equation held while no slot changed. */
    CLEAN,
    /** Slots changed during each read, or a difference may belong to a thread in progress. */
    BUSY,
    /** The equation failed permanently: a defect. Remains until the equation holds again. */
    MISMATCH
  }

  /**
   * Results of the audits of a ledger. Ages are in nanoseconds at the time of the snapshot; -1 for
   * never.
   *
   * @param verdict of the last audit
   * @param ageNanos age of the last audit
   * @param cleanAgeNanos age of the last clean audit
   * @param findings mismatches since the ledger was created; a changed mismatch counts again
   * @param difference granted slots without a counted end, in the last mismatch; negative if ends
   *     were counted for slots that were not granted
   * @param findingAgeNanos age of the last mismatch
   */
  public record LastAudit(
      Audit verdict,
      long ageNanos,
      long cleanAgeNanos,
      int findings,
      long difference,
      long findingAgeNanos) {}
}
