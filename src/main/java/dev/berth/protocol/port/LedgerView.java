package dev.berth.protocol.port;

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
 * @param audit whether granted = completed + released + expired + ongoing
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
    Audit audit) {

  /** An audit's verdict. */
  public enum Audit {
    /** The equation held while nothing moved. */
    CLEAN,
    /** Slots moved during each read; nothing can be said. */
    BUSY,
    /** The equation failed in two reads between which nothing moved: a defect. */
    MISMATCH
  }
}
