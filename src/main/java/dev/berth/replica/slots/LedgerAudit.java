package dev.berth.replica.slots;

import dev.berth.view.LedgerView.Audit;
import dev.berth.view.LedgerView.LastAudit;
import org.jspecify.annotations.Nullable;

/**
 * Verdict on the equation of a ledger, {@code granted = completed + released + expired + ongoing},
 * from one reading per second. A thread changes the word before its counter, so a difference in one
 * reading proves nothing. A difference is a mismatch when
 *
 * <ul>
 *   <li>the next reading has the same difference, and no slot moved in between; or
 *   <li>{@value #SAME_UNDER_LOAD} readings in a row have the same difference: a thread between word
 *       and counter finishes within moments, whereas a lost slot is missing in every reading.
 * </ul>
 *
 * A mismatch persists until a reading satisfies the equation. If slots moved during all tries of an
 * audit, its reading proves nothing either; the view shows the age of the last clean audit.
 *
 * <p><b>Concurrency.</b> One thread audits. Any thread may read the last verdict.
 */
final class LedgerAudit {
  /**
   * Maximum of readings per audit. An audit repeats a reading until the word does not change during
   * it.
   */
  static final int TRIES = 8;

  /** Number of consecutive readings with one difference that prove a mismatch under load. */
  static final int SAME_UNDER_LOAD = 10;

  /**
   * The word of a ledger, read together with its counters.
   *
   * @param word the packed counts
   * @param difference granted slots that are neither counted as ended nor part of the word
   * @param still whether the word was the same before and after the counters were read
   */
  record LedgerReading(long word, long difference, boolean still) {}

  /**
   * Result of the audits so far. Times are on the nano clock; {@code cleanAt} is valid only if
   * {@code wasClean}, and {@code at} only after the first audit.
   */
  private record AuditVerdict(
      Audit audit, long at, long cleanAt, boolean wasClean, @Nullable AuditFinding last) {}

  /** The last mismatch, with its time and its number since the start of the ledger. */
  private record AuditFinding(long difference, long at, int number) {}

  private static final AuditVerdict NONE = new AuditVerdict(Audit.PENDING, 0, 0, false, null);

  private volatile AuditVerdict verdict = NONE;

  // Confined to the auditing thread: the last difference, its word, and the number of equal
  // readings.
  private long suspected;
  private long suspectedWord;
  private int times;

  /** Records one reading and returns the verdict. Confined to the auditing thread. */
  Audit judge(LedgerReading reading, long now) {
    AuditVerdict before = verdict;
    Audit audit = before.audit == Audit.MISMATCH ? Audit.MISMATCH : Audit.BUSY;
    AuditFinding found = before.last;
    if (reading.still && reading.difference == 0) {
      times = 0;
      audit = Audit.CLEAN;
    } else if (reading.still && isStable(reading)) {
      if (audit != Audit.MISMATCH || found == null || found.difference != reading.difference) {
        found = new AuditFinding(reading.difference, now, found == null ? 1 : found.number + 1);
      }
      audit = Audit.MISMATCH;
    }
    boolean clean = audit == Audit.CLEAN;
    verdict =
        new AuditVerdict(audit, now, clean ? now : before.cleanAt, clean || before.wasClean, found);
    return audit;
  }

  /** Returns whether the readings so far prove that the difference is permanent. */
  private boolean isStable(LedgerReading reading) {
    boolean same = times > 0 && suspected == reading.difference;
    boolean atRest = same && suspectedWord == reading.word;
    times = same ? Math.min(times + 1, SAME_UNDER_LOAD) : 1;
    suspected = reading.difference;
    suspectedWord = reading.word;
    return atRest || times == SAME_UNDER_LOAD;
  }

  /** Returns the verdict of the last audit, with ages as of {@code now}. Thread-safe. */
  LastAudit last(long now) {
    AuditVerdict said = verdict;
    AuditFinding found = said.last;
    return new LastAudit(
        said.audit,
        said.audit == Audit.PENDING ? -1 : Math.max(0, now - said.at),
        said.wasClean ? Math.max(0, now - said.cleanAt) : -1,
        found == null ? 0 : found.number,
        found == null ? 0 : found.difference,
        found == null ? -1 : Math.max(0, now - found.at));
  }
}
