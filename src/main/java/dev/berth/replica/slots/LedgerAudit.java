package dev.berth.replica.slots;

import dev.berth.view.LedgerView.Audit;
import dev.berth.view.LedgerView.LastAudit;
import org.jspecify.annotations.Nullable;

/**
 * Judges whether a ledger adds up, {@code granted = completed + released + expired + ongoing}, from
 * one reading of it a second. A thread may stand between its change of the word and its counter, so
 * a difference in one reading says nothing. It is a mismatch when
 *
 * <ul>
 *   <li>the next reading has the same difference, and nothing moved in between; or
 *   <li>{@value #SAME_UNDER_LOAD} readings in a row have the same difference: a thread that stands
 *       between is gone a moment later, and a slot that is lost is lost in every reading.
 * </ul>
 *
 * A mismatch stands until a reading adds up again. A reading during which slots moved, however
 * often it was tried, says nothing either; whoever reads sees how long ago the ledger was clean.
 *
 * <p>One thread judges; any thread reads what the last audit said.
 */
final class LedgerAudit {
  /** How often a ledger is read in one audit until it stands still for the length of a read. */
  static final int TRIES = 8;

  static final int SAME_UNDER_LOAD = 10;

  /**
   * A ledger's word, and its counters beside it.
   *
   * @param word the packed counts
   * @param difference slots granted of which the counters and the word know no end
   * @param still whether the word was the same before and after the counters were read
   */
  record Reading(long word, long difference, boolean still) {}

  /** Moments on the nano clock; those of what never happened are not read. */
  private record Verdict(
      Audit audit, long at, long cleanAt, boolean wasClean, @Nullable Finding last) {}

  private record Finding(long difference, long at, int number) {}

  private static final Verdict NONE = new Verdict(Audit.PENDING, 0, 0, false, null);

  private volatile Verdict verdict = NONE;

  // The auditing thread's: the difference last read, on which word, and how often in a row.
  private long suspected;
  private long suspectedWord;
  private int times;

  Audit judge(Reading reading, long now) {
    Verdict before = verdict;
    Audit audit = before.audit == Audit.MISMATCH ? Audit.MISMATCH : Audit.BUSY;
    Finding found = before.last;
    if (reading.still && reading.difference == 0) {
      times = 0;
      audit = Audit.CLEAN;
    } else if (reading.still && isStable(reading)) {
      if (audit != Audit.MISMATCH || found == null || found.difference != reading.difference) {
        found = new Finding(reading.difference, now, found == null ? 1 : found.number + 1);
      }
      audit = Audit.MISMATCH;
    }
    boolean clean = audit == Audit.CLEAN;
    verdict =
        new Verdict(audit, now, clean ? now : before.cleanAt, clean || before.wasClean, found);
    return audit;
  }

  private boolean isStable(Reading reading) {
    boolean same = times > 0 && suspected == reading.difference;
    boolean atRest = same && suspectedWord == reading.word;
    times = same ? Math.min(times + 1, SAME_UNDER_LOAD) : 1;
    suspected = reading.difference;
    suspectedWord = reading.word;
    return atRest || times == SAME_UNDER_LOAD;
  }

  /** What the last audit said, as of {@code now}. Any thread. */
  LastAudit last(long now) {
    Verdict said = verdict;
    Finding found = said.last;
    return new LastAudit(
        said.audit,
        said.audit == Audit.PENDING ? -1 : Math.max(0, now - said.at),
        said.wasClean ? Math.max(0, now - said.cleanAt) : -1,
        found == null ? 0 : found.number,
        found == null ? 0 : found.difference,
        found == null ? -1 : Math.max(0, now - found.at));
  }
}
