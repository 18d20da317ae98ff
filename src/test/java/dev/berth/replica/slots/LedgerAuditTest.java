package dev.berth.replica.slots;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.replica.slots.LedgerAudit.LedgerReading;
import dev.berth.view.LedgerView.Audit;
import dev.berth.view.LedgerView.LastAudit;
import org.junit.jupiter.api.Test;

class LedgerAuditTest {
  private static final long SECOND = 1_000_000_000L;

  private final LedgerAudit audit = new LedgerAudit();
  private long now = -5 * SECOND; // a nano clock may be negative
  private long word;

  private Audit still(long difference) {
    now += SECOND;
    return audit.judge(new LedgerReading(word, difference, true), now);
  }

  private Audit moving() {
    now += SECOND;
    return audit.judge(new LedgerReading(word, 77, false), now);
  }

  @Test
  void nothingIsSaidBeforeTheFirst() {
    assertThat(audit.last(now)).isEqualTo(new LastAudit(Audit.PENDING, -1, -1, 0, 0, -1));
  }

  @Test
  void aLedgerThatIsNeverStillSaysWhenItWasCleanLast() {
    assertThat(still(0)).isEqualTo(Audit.CLEAN);
    for (int i = 0; i < 100; i++) {
      word++;
      assertThat(moving()).isEqualTo(Audit.BUSY);
    }
    now += 7;
    assertThat(audit.last(now)).isEqualTo(new LastAudit(Audit.BUSY, 7, 100 * SECOND + 7, 0, 0, -1));
  }

  @Test
  void oneThatWasNeverCleanSaysSo() {
    assertThat(moving()).isEqualTo(Audit.BUSY);
    assertThat(audit.last(now)).isEqualTo(new LastAudit(Audit.BUSY, 0, -1, 0, 0, -1));
  }

  @Test
  void theSameDifferenceOnTheSameWordIsAMismatch() {
    assertThat(still(2)).isEqualTo(Audit.BUSY);
    assertThat(moving()).isEqualTo(Audit.BUSY); // it did not move for long: the word is the same
    assertThat(still(2)).isEqualTo(Audit.MISMATCH);
    assertThat(audit.last(now)).isEqualTo(new LastAudit(Audit.MISMATCH, 0, -1, 1, 2, 0));
  }

  @Test
  void underLoadItTakesTheSameDifferenceInManyReadings() {
    for (int i = 1; i < LedgerAudit.SAME_UNDER_LOAD; i++) {
      word++;
      assertThat(still(-1)).as("reading %d", i).isEqualTo(Audit.BUSY);
    }
    word++;
    assertThat(still(-1)).isEqualTo(Audit.MISMATCH);
  }

  @Test
  void differencesOfThreadsOnTheirWayAreNoMismatch() {
    for (int i = 0; i < 1_000; i++) {
      word++;
      assertThat(still(i % 9 == 8 ? 0 : -1)).isNotEqualTo(Audit.MISMATCH);
      word++;
      assertThat(still(i % 9 == 8 ? 1 : -1)).isNotEqualTo(Audit.MISMATCH);
      if (i % 4 == 3) {
        word++;
        assertThat(still(1)).isNotEqualTo(Audit.MISMATCH);
      }
    }
    assertThat(audit.last(now).findings()).isZero();
  }

  @Test
  void aMismatchStandsAndIsFoundOnce() {
    still(1);
    assertThat(still(1)).isEqualTo(Audit.MISMATCH);
    for (int i = 0; i < 100; i++) {
      word++;
      assertThat(i % 2 == 0 ? moving() : still(1)).isEqualTo(Audit.MISMATCH);
    }
    assertThat(audit.last(now)).isEqualTo(new LastAudit(Audit.MISMATCH, 0, -1, 1, 1, 100 * SECOND));
  }

  @Test
  void aMismatchThatGrowsIsFoundAgain() {
    still(1);
    still(1);
    assertThat(still(2)).isEqualTo(Audit.MISMATCH);
    assertThat(audit.last(now).difference()).isEqualTo(1); // the second may be for a moment
    still(2);
    assertThat(audit.last(now)).isEqualTo(new LastAudit(Audit.MISMATCH, 0, -1, 2, 2, 0));
  }

  @Test
  void whatWasFoundIsRememberedWhenTheLedgerIsCleanAgain() {
    still(1);
    still(1);
    assertThat(still(0)).isEqualTo(Audit.CLEAN);
    assertThat(audit.last(now)).isEqualTo(new LastAudit(Audit.CLEAN, 0, 0, 1, 1, SECOND));
    still(1);
    still(1);
    assertThat(audit.last(now).findings()).isEqualTo(2);
  }
}
