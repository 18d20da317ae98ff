package dev.berth.replica.slots;

import static dev.berth.replica.slots.Ledgers.assertAtRest;
import static dev.berth.replica.slots.Ledgers.ledger;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.ManualClock;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.Load;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.Slots.Reservation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * The behaviours of seed 001 (Ray #63252: reserve a slot, dispatch into it, release it) and of its
 * review, as claims about the ledger; and what Ray's slots lack.
 */
class SlotReservationTest {
  private static final long TTL = Duration.ofSeconds(10).toNanos();

  private final ManualClock clock = new ManualClock();
  private final SlotLedger ledger = ledger(2, clock);
  private long attempts;

  private AttemptId attempt() {
    return new AttemptId(1, 0, ++attempts);
  }

  private SlotLease reserved() {
    return ((Reservation.Granted) ledger.reserve(attempt(), TTL)).lease();
  }

  @Test
  void aReservationTakesASlotOfTheSameCapacityAsRequests() {
    ledger.tryAcquire();
    reserved();

    assertThat(ledger.tryAcquire()).isFalse();
    assertThat(ledger.running()).isEqualTo(1);
    assertThat(ledger.reserved()).isEqualTo(1);
  }

  @Test
  void aReserveAtCapacityIsRefusedAtOnceWithTheOngoingCount() {
    ledger.tryAcquire();
    ledger.tryAcquire();

    Reservation answer = ledger.reserve(attempt(), TTL);

    assertThat(answer).isEqualTo(new Reservation.Refused(Refusal.FULL));
    assertThat(Load.ongoing(ledger.load())).isEqualTo(2);
  }

  @Test
  void aReleasedReservationFreesItsSlotForOthers() {
    reserved();
    SlotLease lease = reserved();

    lease.release();

    assertThat(ledger.tryAcquire()).isTrue();
  }

  @Test
  void releasingAnUnknownReservationIsNothing() {
    reserved();

    assertThat(ledger.release(attempt())).isFalse();
    assertThat(ledger.release(attempt())).isFalse();

    assertThat(ledger.ongoing()).isEqualTo(1);
  }

  @Test
  void aDispatchWithATokenTakesNoSecondSlot() {
    ledger.tryAcquire();
    SlotLease lease = reserved();

    assertThat(ledger.consume(lease.token(), attempt())).isNull();

    assertThat(ledger.running()).isEqualTo(2);
    ledger.complete();
    ledger.complete();
    assertAtRest(ledger);
  }

  @Test
  void aDispatchWithAnUnknownTokenDoesNotRun() {
    SlotLease lease = reserved();
    lease.release();
    SlotLedger restarted = ledger(2, clock);

    assertThat(restarted.consume(lease.token(), attempt())).isEqualTo(Refusal.UNKNOWN_TOKEN);
    assertAtRest(restarted);
  }

  @Test
  void aReservedSlotIsOngoingSoThatDrainWaitsForIt() {
    SlotLease lease = reserved();

    ledger.drain(clock.getAsLong() + TTL);

    assertThat(ledger.ongoing()).isEqualTo(1);
    lease.consume();
    assertThat(ledger.ongoing()).isEqualTo(1);
    ledger.complete();
    assertAtRest(ledger);
  }

  @Test
  void aDrainingReplicaRefusesToReserve() {
    ledger.drain(clock.getAsLong() + TTL);

    assertThat(ledger.reserve(attempt(), TTL)).isEqualTo(new Reservation.Refused(Refusal.DRAINING));
  }

  @Test
  void aLostReplyIsMadeGoodByReleasingTheAttempt() {
    AttemptId attempt = attempt();
    ledger.reserve(attempt, TTL); // its answer never arrives

    assertThat(ledger.release(attempt)).isTrue();

    assertAtRest(ledger);
  }

  @Test
  void aReserveCancelledBeforeItArrivesTakesNoSlot() {
    AttemptId attempt = attempt();
    ledger.release(attempt);

    ledger.reserve(attempt, TTL);

    assertAtRest(ledger);
  }

  @Test
  void tenThousandReservationsWhoseOwnersVanishLeaveNoSlotAfterTheTtl() {
    SlotLedger wide = ledger(10_000, clock);
    List<Reservation> taken = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      taken.add(wide.reserve(attempt(), TTL));
    }
    assertThat(taken).allMatch(answer -> answer instanceof Reservation.Granted);
    assertThat(wide.tryAcquire()).isFalse();

    clock.advanceNanos(TTL);
    wide.sweep();

    assertAtRest(wide);
    assertThat(wide.view("r", 0).expired()).isEqualTo(10_000);
    clock.advance(Duration.ofMinutes(2));
    wide.sweep();
    assertThat(wide.remembered()).isZero();
  }
}
