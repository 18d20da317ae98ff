package dev.berth.replica.slots;

import static dev.berth.replica.slots.Ledgers.granted;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.berth.fakes.ManualClock;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.SlotToken;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.Slots;
import dev.berth.protocol.port.Slots.ReserveResult;
import dev.berth.replica.slots.Ledgers.Freed;
import dev.berth.view.LedgerView;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What the ledger promises by its port, {@link Slots}, beside what its walk compares. */
class SlotLedgerContractTest {
  private static final long TTL = Duration.ofSeconds(10).toNanos();
  private static final Duration PAST_THE_TTL = Duration.ofSeconds(11);

  private final ManualClock clock = new ManualClock();
  private final List<SlotLedger> made = new ArrayList<>();
  private long attempts;

  @AfterEach
  void whatWasGrantedHasEndedOrIsOngoing() {
    made.forEach(Ledgers::assertBalanced);
  }

  private SlotLedger fresh(int maxOngoing) {
    SlotLedger ledger = Ledgers.ledger(maxOngoing, clock);
    made.add(ledger);
    return ledger;
  }

  private AttemptId attempt() {
    return new AttemptId(7, 0, ++attempts);
  }

  private static ReserveResult refused(Refusal reason) {
    return new ReserveResult.ReserveRefused(reason);
  }

  // --- granting ---

  @Test
  void asManyAreGrantedAsThereAreSlots() {
    SlotLedger slots = fresh(3);

    assertThat(slots.tryAcquire()).isTrue();
    assertThat(slots.tryAcquire(attempt())).isNull();
    granted(slots.reserve(attempt(), TTL));

    assertThat(slots.ongoing()).isEqualTo(3);
    assertThat(slots.tryAcquire()).isFalse();
    assertThat(slots.tryAcquire(attempt())).isEqualTo(Refusal.FULL);
    assertThat(slots.reserve(attempt(), TTL)).isEqualTo(refused(Refusal.FULL));
    assertThat(slots.hold(TTL)).isNull();
    assertThat(slots.ongoing()).isEqualTo(3);
  }

  @Test
  void aCompletionThatNoOneOwesIsADefectAndChangesNothing() {
    SlotLedger slots = fresh(2);
    SlotLease lease = granted(slots.reserve(attempt(), TTL));
    assertThatIllegalStateException().isThrownBy(slots::complete);
    assertThatIllegalStateException().isThrownBy(() -> slots.completeAndHold(TTL));
    assertThat(slots.ongoing()).isEqualTo(1);
    assertThat(lease.active()).isTrue();
  }

  // --- closed ---

  @Test
  void closedLedgerGrantsNothingAndEndsOngoingSlots() {
    SlotLedger slots = fresh(3);
    slots.tryAcquire();
    SlotLease used = granted(slots.reserve(attempt(), TTL));
    SlotLease released = granted(slots.reserve(attempt(), TTL));

    slots.setMaxOngoing(0);

    assertThat(slots.tryAcquire()).isFalse();
    assertThat(slots.tryAcquire(attempt())).isEqualTo(Refusal.FULL);
    assertThat(slots.reserve(attempt(), TTL)).isEqualTo(refused(Refusal.FULL));
    assertThat(slots.hold(TTL)).isNull();
    assertThat(slots.completeAndHold(TTL)).as("hand-off").isNull();
    assertThat(slots.renew(used.token(), TTL)).isNull();
    assertThat(used.consume()).isNull();
    assertThat(slots.ongoing()).isEqualTo(3);
    slots.complete();
    slots.complete();
    assertThat(released.release()).isTrue();
    assertThat(slots.ongoing()).isZero();
    assertThat(slots.tryAcquire()).isFalse();
    assertThat(slots.audit()).isEqualTo(LedgerView.Audit.CLEAN);
  }

  @Test
  void openedLedgerNotifiesItsObserverOnceItGrants() {
    SlotLedger slots = fresh(2);
    slots.setMaxOngoing(0);
    List<Boolean> grants = new ArrayList<>();
    slots.observe(opened -> grants.add(opened.tryAcquire()));

    slots.setMaxOngoing(0);
    assertThat(grants).isEmpty();
    slots.setMaxOngoing(2);
    assertThat(grants).containsExactly(true);
    assertThat(slots.ongoing()).isOne();
  }

  @Test
  void reportOfAClosedLedgerHasAMaximumOfZeroAndIsNewer() {
    SlotLedger slots = fresh(1);
    long open = slots.load();
    slots.setMaxOngoing(0);
    long closed = slots.load();

    assertThat(LoadReport.max(closed)).isZero();
    assertThat(LoadReport.ongoing(closed)).isZero();
    assertThat(LoadReport.isNewer(closed, open)).isTrue();
    slots.setMaxOngoing(1);
    assertThat(LoadReport.isNewer(slots.load(), closed)).isTrue();
  }

  @Test
  void ledgerMadeClosedReportsALoadToo() {
    long first = fresh(0).load();

    assertThat(first).isNotEqualTo(LoadReport.NONE);
    assertThat(LoadReport.max(first)).isZero();
    assertThat(LoadReport.ongoing(first)).isZero();
    assertThat(LoadReport.isNewer(LoadReport.of(0, 4, 1), first)).isTrue();
  }

  // --- a lease ends once ---

  @Test
  void aConsumedLeaseRunsInTheSlotItHeld() {
    SlotLedger slots = fresh(1);
    SlotLease lease = granted(slots.reserve(attempt(), TTL));
    assertThat(slots.consume(lease.token(), attempt())).isNull();
    assertThat(slots.ongoing()).isEqualTo(1);
    slots.complete();
    assertThat(slots.ongoing()).isZero();
  }

  @Test
  void aLeaseIsOverAtItsDeadlineAndNotBefore() {
    SlotLedger slots = fresh(2);
    SlotLease first = granted(slots.reserve(attempt(), TTL));
    SlotLease second = granted(slots.reserve(attempt(), TTL));

    clock.advanceNanos(TTL - 1);
    slots.sweep();
    assertThat(first.active()).isTrue();
    assertThat(first.consume()).isNull();

    clock.advanceNanos(1);
    assertThat(second.active()).isFalse();
    assertThat(second.consume()).isEqualTo(Refusal.EXPIRED);
  }

  // --- attempts ---

  @Test
  void aReleaseThatOvertakesItsRequestKeepsItFromRunning() {
    SlotLedger slots = fresh(1);
    AttemptId attempt = attempt();
    slots.release(attempt);
    assertThat(slots.tryAcquire(attempt)).isEqualTo(Refusal.REVOKED);
    assertThat(slots.ongoing()).isZero();
  }

  @Test
  void aReleaseThatOvertakesItsDispatchKeepsTheTokenUsable() {
    SlotLedger slots = fresh(1);
    SlotLease lease = granted(slots.reserve(attempt(), TTL));
    AttemptId dispatch = attempt();
    slots.release(dispatch);

    assertThat(slots.consume(lease.token(), dispatch)).isEqualTo(Refusal.REVOKED);
    assertThat(lease.active()).isTrue();
    assertThat(lease.release()).isTrue();
  }

  @Test
  void anAttemptRunsAtMostOnce() {
    SlotLedger slots = fresh(5);
    AttemptId attempt = attempt();
    SlotLease lease = granted(slots.reserve(attempt(), TTL));

    assertThat(slots.tryAcquire(attempt)).isNull();

    assertThat(slots.tryAcquire(attempt)).isEqualTo(Refusal.REVOKED);
    assertThat(slots.consume(lease.token(), attempt)).isEqualTo(Refusal.REVOKED);
    assertThat(slots.ongoing()).isEqualTo(2);
  }

  @Test
  void anAttemptThatWasRefusedDoesNotRunWhenItComesAgain() {
    SlotLedger slots = fresh(1);
    slots.tryAcquire();
    AttemptId request = attempt();
    AttemptId reserve = attempt();
    slots.tryAcquire(request);
    slots.reserve(reserve, TTL);
    slots.complete();

    assertThat(slots.tryAcquire(request)).isEqualTo(Refusal.REVOKED);
    assertThat(slots.reserve(reserve, TTL)).isEqualTo(refused(Refusal.REVOKED));
    assertThat(slots.ongoing()).isZero();
  }

  // --- tokens ---

  @Test
  void aTokenOfAnotherIncarnationIsRefused() {
    SlotLedger slots = fresh(2);
    SlotToken token = granted(slots.reserve(attempt(), TTL)).token();
    SlotToken foreign = new SlotToken(token.epoch() + 1, token.sequence(), token.secret());
    assertThat(slots.consume(foreign, attempt())).isEqualTo(Refusal.FOREIGN_EPOCH);
    assertThat(slots.renew(foreign, TTL)).isEqualTo(Refusal.FOREIGN_EPOCH);
  }

  @Test
  void aGuessedTokenIsUnknownAndHarmsNoLease() {
    SlotLedger slots = fresh(2);
    SlotLease lease = granted(slots.reserve(attempt(), TTL));
    SlotToken token = lease.token();
    SlotToken guessed = new SlotToken(token.epoch(), token.sequence(), token.secret() + 1);
    SlotToken never = new SlotToken(token.epoch(), token.sequence() + 1, token.secret());

    assertThat(slots.consume(guessed, attempt())).isEqualTo(Refusal.UNKNOWN_TOKEN);
    assertThat(slots.consume(never, attempt())).isEqualTo(Refusal.UNKNOWN_TOKEN);
    assertThat(slots.renew(guessed, TTL)).isEqualTo(Refusal.UNKNOWN_TOKEN);
    assertThat(lease.consume()).isNull();
  }

  @Test
  void aTokenThatEndedIsToldHow() {
    SlotLedger slots = fresh(3);
    SlotLease released = granted(slots.reserve(attempt(), TTL));
    SlotToken token = released.token();
    released.release();
    SlotLease expired = granted(slots.reserve(attempt(), TTL));
    SlotToken late = expired.token();
    clock.advance(PAST_THE_TTL);

    assertThat(slots.consume(token, attempt())).isEqualTo(Refusal.RELEASED);
    assertThat(slots.renew(token, TTL)).isEqualTo(Refusal.RELEASED);
    assertThat(slots.renew(late, TTL)).isEqualTo(Refusal.EXPIRED);
    assertThat(slots.consume(late, attempt())).isEqualTo(Refusal.EXPIRED);
    assertThat(slots.ongoing()).isZero();
  }

  @Test
  void aTokenAskedForAfterItsLeaseEndedIsStillTold() {
    SlotLedger slots = fresh(1);
    SlotLease lease = granted(slots.reserve(attempt(), TTL));
    lease.release();
    assertThat(slots.consume(lease.token(), attempt())).isEqualTo(Refusal.RELEASED);
  }

  // --- draining ---

  @Test
  void aDrainingReplicaHonoursTheLeasesItGrantedAndFallsToZero() {
    SlotLedger slots = fresh(2);
    SlotLease used = granted(slots.reserve(attempt(), TTL));
    AttemptId kept = attempt();
    granted(slots.reserve(kept, TTL));

    slots.drain(clock.getAsLong() + TTL);

    assertThat(slots.ongoing()).as("the drain waits for both").isEqualTo(2);
    granted(slots.reserve(kept, TTL));
    assertThat(used.consume()).isNull();
    slots.complete();
    assertThat(slots.release(kept)).isTrue();
    assertThat(slots.ongoing()).isZero();
  }

  // --- who is told ---

  @Test
  void theObserverIsToldOfEveryFreedSlotAfterItIsFree() {
    SlotLedger slots = fresh(4);
    Freed freed = new Freed();
    slots.observe(freed);
    slots.tryAcquire();
    AttemptId byAttempt = attempt();
    granted(slots.reserve(byAttempt, TTL));
    SlotLease released = granted(slots.reserve(attempt(), TTL));
    granted(slots.reserve(attempt(), TTL));
    assertThat(freed.ongoingWhenTold).isEmpty();

    slots.complete();
    slots.release(byAttempt);
    released.release();
    clock.advance(PAST_THE_TTL);
    slots.sweep();

    assertThat(freed.ongoingWhenTold).containsExactly(3, 2, 1, 0);
  }

  // --- what is reported ---

  @Test
  void theLoadReportsOngoingAndMaxAndEachChangeIsNewer() {
    SlotLedger slots = fresh(3);
    List<Long> loads = new ArrayList<>();
    loads.add(slots.load());

    slots.tryAcquire();
    loads.add(slots.load());
    SlotLease lease = granted(slots.reserve(attempt(), TTL));
    loads.add(slots.load());
    lease.consume();
    loads.add(slots.load());
    slots.complete();
    loads.add(slots.load());
    slots.setMaxOngoing(5);
    loads.add(slots.load());
    slots.drain(clock.getAsLong() + TTL);
    loads.add(slots.load());

    assertThat(loads).extracting(LoadReport::ongoing).containsExactly(0, 1, 2, 2, 1, 1, 1);
    assertThat(loads).extracting(LoadReport::max).containsExactly(3, 3, 3, 3, 3, 5, 5);
    for (int i = 1; i < loads.size(); i++) {
      assertThat(LoadReport.isNewer(loads.get(i), loads.get(i - 1))).as("change %d", i).isTrue();
      assertThat(LoadReport.isNewer(loads.get(i - 1), loads.get(i))).as("change %d", i).isFalse();
    }
  }
}
