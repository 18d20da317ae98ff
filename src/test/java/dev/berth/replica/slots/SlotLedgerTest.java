package dev.berth.replica.slots;

import static dev.berth.replica.slots.Ledgers.assertAtRest;
import static dev.berth.replica.slots.Ledgers.granted;
import static dev.berth.replica.slots.Ledgers.ledger;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.berth.fakes.ManualClock;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.AttemptState;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.Slots.ReserveResult;
import dev.berth.view.LedgerView;
import dev.berth.view.LedgerView.Audit;
import dev.berth.view.LedgerView.LastAudit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the ledger promises beyond its port: bounds, memory, counters, the audit. */
class SlotLedgerTest {
  private static final long TTL = Duration.ofSeconds(10).toNanos();

  private final ManualClock clock = new ManualClock();
  private long attempts;

  private AttemptId attempt() {
    return new AttemptId(1, 0, ++attempts);
  }

  @Test
  void aViewIsOfOneMomentUnlessSlotsMoveAllTheTime() {
    AtomicReference<SlotLedger> ledger = new AtomicReference<>();
    AtomicInteger moves = new AtomicInteger();
    ledger.set(
        ledger(
            100,
            () -> { // on another thread, say
              if (moves.getAndDecrement() > 0) {
                ledger.get().tryAcquire();
              }
              return 0;
            }));
    moves.set(1);
    assertThat(ledger.get().view("r", 0).running()).isOne();
    moves.set(100);
    ledger.get().view("r", 0);
    assertThat(ledger.get().ongoing()).isEqualTo(1 + LedgerAudit.TRIES);
  }

  // --- bounds ---

  @ParameterizedTest
  @ValueSource(ints = {-1, 65_536})
  void aMaxOutsideZeroTo65535IsRefused(int max) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ledger(max, clock))
        .withMessage("maxOngoing: " + max + " (expected: 0 to 65535)");
    SlotLedger ledger = ledger(3, clock);
    assertThatIllegalArgumentException().isThrownBy(() -> ledger.setMaxOngoing(max));
    assertThat(ledger.maxOngoing()).isEqualTo(3);
  }

  @Test
  void theWordHolds65535SlotsRunningOrReserved() {
    SlotLedger ledger = ledger(65_535, clock);
    List<SlotLease> leases = new ArrayList<>();
    for (int i = 0; i < 65_535; i++) {
      leases.add(ledger.hold(TTL));
    }
    assertThat(leases).doesNotContainNull();
    assertThat(ledger.hold(TTL)).isNull();
    assertThat(ledger.reserved()).isEqualTo(65_535);
    assertThat(LoadReport.ongoing(ledger.load())).isEqualTo(65_535);

    leases.forEach(SlotLease::consume);

    assertThat(ledger.running()).isEqualTo(65_535);
    assertThat(ledger.reserved()).isZero();
    assertThat(ledger.draining()).isFalse();
    assertThat(ledger.tryAcquire()).isFalse();
    leases.forEach(lease -> ledger.complete());
    assertAtRest(ledger);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, -1, Long.MIN_VALUE})
  void aLeaseWithoutTimeToLiveIsOverAtOnce(long ttl) {
    SlotLedger ledger = ledger(1, clock);
    SlotLease lease = granted(ledger.reserve(attempt(), ttl));
    assertThat(lease.consume()).isEqualTo(Refusal.EXPIRED);
    assertAtRest(ledger);
  }

  // --- what it remembers ---

  private LedgerLimits limits(int rememberedMax) {
    return new LedgerLimits(TTL, TTL, rememberedMax, TTL, 1 << 20);
  }

  @Test
  void anActiveLeaseIsNeverForgotten() {
    SlotLedger ledger = ledger(4, limits(100), clock);
    AttemptId kept = attempt();
    SlotToken token = granted(ledger.reserve(kept, TTL)).token();

    for (int i = 0; i < 10_000; i++) {
      granted(ledger.reserve(attempt(), TTL)).release();
      assertThat(ledger.tryAcquire(attempt())).isNull();
      ledger.complete();
    }

    assertThat(granted(ledger.reserve(kept, TTL)).token()).isEqualTo(token);
    assertThat(ledger.rememberedLeases()).isLessThanOrEqualTo(102);
    assertThat(ledger.consume(token, attempt())).isNull();
  }

  @Test
  void aLeaseIsReleasedByItsAttemptHoweverLongItWasRenewed() {
    SlotLedger ledger = ledger(1, clock);
    AttemptId kept = attempt();
    SlotToken token = granted(ledger.reserve(kept, TTL)).token();
    for (int second = 0; second < 60; second++) {
      clock.advance(Duration.ofSeconds(1));
      ledger.release(attempt());
      ledger.sweep();
      assertThat(ledger.renew(token, TTL)).isNull();
    }
    assertThat(granted(ledger.reserve(kept, TTL)).token()).isEqualTo(token);
    assertThat(ledger.release(kept)).isTrue();
    assertAtRest(ledger);
  }

  @Test
  void aLeaseThatWasForgottenForItsNumberIsNotGrantedAgain() {
    SlotLedger ledger = ledger(4, limits(1), clock);
    AttemptId oldest = attempt();
    granted(ledger.reserve(oldest, TTL)).release();
    granted(ledger.reserve(attempt(), TTL)).release();

    assertThat(ledger.reserve(oldest, TTL))
        .isEqualTo(new ReserveResult.ReserveRefused(Refusal.REVOKED));
  }

  /** 20 000 a second: the 16 384 that were remembered at any rate lasted less than one. */
  @Test
  void attemptsAreRememberedForTheirTimeAtWhateverRateTheyCome() {
    SlotLedger ledger = ledger(4, clock);
    AttemptId run = attempt();
    AttemptId revoked = attempt();
    assertThat(ledger.tryAcquire(run)).isNull();
    ledger.complete();
    ledger.release(revoked);

    for (int i = 0; i < 200_000; i++) {
      clock.advanceNanos(50_000);
      if (i % 20_000 == 0) {
        ledger.sweep();
      }
      ledger.tryAcquire(attempt());
      ledger.complete();
    }

    assertThat(ledger.tryAcquire(run)).isEqualTo(Refusal.REVOKED);
    assertThat(ledger.tryAcquire(revoked)).isEqualTo(Refusal.REVOKED);
    assertThat(ledger.recall(run)).isEqualTo(AttemptState.GRANTED);
    assertThat(ledger.forgottenEarly()).isZero();
  }

  @Test
  void aRecallSaysWhatBecameOfAnAttemptAndKeepsALateOneFromRunning() {
    SlotLedger ledger = ledger(1, clock);
    AttemptId late = attempt();
    AttemptId runs = attempt();
    AttemptId full = attempt();
    AttemptId leased = attempt();
    AttemptId badToken = attempt();
    assertThat(ledger.tryAcquire(runs)).isNull();
    assertThat(ledger.tryAcquire(full)).isEqualTo(Refusal.FULL);
    assertThat(ledger.consume(new SlotToken(1, 2, 3), badToken)).isEqualTo(Refusal.UNKNOWN_TOKEN);

    assertThat(ledger.recall(late)).isEqualTo(AttemptState.NEVER);
    assertThat(ledger.recall(late)).isEqualTo(AttemptState.REVOKED);
    assertThat(ledger.recall(runs)).isEqualTo(AttemptState.GRANTED);
    assertThat(ledger.recall(full)).isEqualTo(AttemptState.REFUSED);
    assertThat(ledger.recall(badToken)).isEqualTo(AttemptState.REFUSED);
    ledger.complete();
    assertThat(ledger.recall(runs)).isEqualTo(AttemptState.GRANTED);
    assertThat(ledger.tryAcquire(late)).isEqualTo(Refusal.REVOKED);
    SlotLease lease = granted(ledger.reserve(leased, TTL));
    assertThat(ledger.recall(leased)).isEqualTo(AttemptState.LEASED);
    assertThat(lease.active()).isTrue();
  }

  @Test
  void whatEndedIsForgottenAfterAWhile() {
    long remember = Duration.ofSeconds(60).toNanos();
    SlotLedger ledger = ledger(4, new LedgerLimits(TTL, remember, 100, remember, 1000), clock);
    ledger.release(attempt());
    granted(ledger.reserve(attempt(), TTL)).token();
    SlotLease used = granted(ledger.reserve(attempt(), TTL));
    SlotToken token = used.token();
    used.consume();
    clock.advanceNanos(TTL);
    ledger.sweep();

    clock.advanceNanos(remember - 1);
    ledger.sweep();
    assertThat(ledger.consume(token, attempt())).isEqualTo(Refusal.UNKNOWN_TOKEN);
    assertThat(ledger.rememberedLeases()).as("the one that expired, and its token").isEqualTo(2);

    clock.advanceNanos(remember);
    ledger.sweep();
    assertThat(ledger.rememberedLeases()).isZero();
    clock.advanceNanos(remember);
    ledger.sweep();
    assertThat(ledger.rememberedAttempts()).isZero();
  }

  @Test
  void aLeaseIsReleasedByItsNameHoweverLongNothingElseIsHeardOfItsRouter() {
    SlotLedger ledger = ledger(1, new LedgerLimits(TTL, TTL, 100, TTL, 1000), clock);
    AttemptId named = attempt();
    SlotLease lease = granted(ledger.reserve(named, TTL));
    for (int i = 0; i < 20; i++) {
      clock.advanceNanos(TTL / 2);
      lease.renew(TTL);
      ledger.sweep();
    }
    assertThat(ledger.rememberedAttempts()).isZero();
    assertThat(ledger.recall(named)).isEqualTo(AttemptState.LEASED);
    assertThat(ledger.release(named)).isTrue();
    assertAtRest(ledger);
  }

  @Test
  void aLeaseThatNoMessageNamesTakesNoMemory() {
    SlotLedger ledger = ledger(4, clock);
    SlotLease lease = ledger.hold(TTL);
    lease.consume();
    ledger.completeAndHold(TTL).release();
    assertThat(ledger.rememberedLeases() + ledger.rememberedAttempts()).isZero();
    assertAtRest(ledger);
  }

  @Test
  void repeatedAttemptsAreCounted() {
    SlotLedger ledger = ledger(4, clock);
    AttemptId reserve = attempt();
    AttemptId request = attempt();
    ledger.reserve(reserve, TTL);
    ledger.tryAcquire(request);
    assertThat(ledger.duplicates()).isZero();

    ledger.reserve(reserve, TTL);
    ledger.tryAcquire(request);
    ledger.release(request);
    ledger.release(reserve);

    assertThat(ledger.duplicates()).isEqualTo(2);
  }

  @Test
  void tenThousandReservationsWhoseOwnersVanishLeaveNoSlotAfterTheTtl() {
    SlotLedger wide = ledger(10_000, clock);
    for (int i = 0; i < 10_000; i++) {
      granted(wide.reserve(attempt(), TTL));
    }
    assertThat(wide.tryAcquire()).isFalse();

    clock.advanceNanos(TTL);
    wide.sweep();

    assertAtRest(wide);
    assertThat(wide.view("r", 0).expired()).isEqualTo(10_000);
    clock.advance(Duration.ofMinutes(2));
    wide.sweep();
    assertThat(wide.rememberedLeases()).isZero();
  }

  // --- tokens ---

  @Test
  void tokensDifferAndNeverPrintTheirSecret() {
    SlotLedger ledger = ledger(2, clock);
    SlotToken first = granted(ledger.reserve(attempt(), TTL)).token();
    SlotToken second = granted(ledger.reserve(attempt(), TTL)).token();

    assertThat(first).isNotEqualTo(second);
    assertThat(first.secret()).isNotEqualTo(second.secret());
    assertThat(first.epoch()).isEqualTo(ledger.view("r", 0).epoch());
    assertThat(first.toString()).doesNotContain(Long.toString(first.secret()));
    assertThat(first.toString()).doesNotContain(Long.toHexString(first.secret()));
  }

  // --- counters and the audit ---

  @Test
  void everyEndIsCountedInItsOwnCounter() {
    SlotLedger ledger = ledger(10, clock);
    ledger.tryAcquire();
    ledger.complete();
    ledger.tryAcquire(attempt());
    ledger.completeAndHold(TTL).consume();
    granted(ledger.reserve(attempt(), TTL)).release();
    ledger.hold(TTL);
    clock.advanceNanos(TTL);
    ledger.sweep();
    ledger.hold(TTL);
    ledger.drain(clock.getAsLong() + TTL);

    ledger.audit();
    clock.advanceNanos(3);

    LedgerView view = ledger.view("digits#1", 2);

    assertThat(view)
        .isEqualTo(
            new LedgerView(
                "digits#1",
                1,
                10,
                1,
                1,
                true,
                6,
                2,
                1,
                1,
                2,
                new LastAudit(Audit.CLEAN, 3, 3, 0, 0, -1)));
    assertThat(ledger.view("r", 0).expired()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"granted", "completed", "released", "expired"})
  void aCounterThatIsWrongIsAMismatchAtTheSecondLook(String counter) {
    SlotLedger ledger = ledger(4, clock);
    ledger.tryAcquire();
    assertThat(ledger.audit()).isEqualTo(Audit.CLEAN);

    Ledgers.bendCounter(ledger, counter, 1);

    assertThat(ledger.audit()).isEqualTo(Audit.BUSY);
    assertThat(ledger.audit()).isEqualTo(Audit.MISMATCH);
    assertThat(ledger.audit()).isEqualTo(Audit.MISMATCH);
  }

  @Test
  void aSlotLostFromTheWordIsAMismatch() {
    SlotLedger ledger = ledger(4, clock);
    ledger.tryAcquire();
    Ledgers.bendWord(ledger, word -> word - 1);
    assertThat(ledger.audit()).isEqualTo(Audit.BUSY);
    assertThat(ledger.audit()).isEqualTo(Audit.MISMATCH);
    assertThat(ledger.view("r", 0).lastAudit().difference()).isEqualTo(1);
  }

  // --- the report's sequence ---

  @ParameterizedTest
  @ValueSource(longs = {0x3FFF_FFFFL, 0x1FFF_FFFFL, 0x2FFF_FFFFL})
  void reportsStayInOrderWhenTheirSequenceWraps(long stamp) {
    SlotLedger ledger = ledger(4, clock);
    ledger.tryAcquire();
    Ledgers.bendWord(ledger, word -> (word & 0x3_FFFF_FFFFL) | (stamp << 34));
    long before = ledger.load();

    ledger.tryAcquire();
    long after = ledger.load();
    ledger.drain(clock.getAsLong() + TTL);
    long drained = ledger.load();

    assertThat(LoadReport.isNewer(after, before)).isTrue();
    assertThat(LoadReport.isNewer(drained, after)).isTrue();
    assertThat(LoadReport.isNewer(before, drained)).isFalse();
    assertThat(LoadReport.ongoing(after)).isEqualTo(2);
    assertThat(ledger.draining()).isTrue();
    ledger.complete();
    ledger.complete();
    assertAtRest(ledger);
  }
}
