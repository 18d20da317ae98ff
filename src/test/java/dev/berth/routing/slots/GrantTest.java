package dev.berth.routing.slots;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.Replicas;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.SlotToken;
import dev.berth.replica.slots.Ledgers;
import dev.berth.replica.slots.SlotLedger;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Who does not use a grant gives all of it back, and nothing else. */
class GrantTest {
  private final ManualClock clock = new ManualClock();
  private final SlotLedger ledger = Ledgers.ledger(1, clock);
  private final LocalReplica here =
      QueueFixture.replica(
          ledger, SlotsProbe.queue((waiter, kept) -> Grant.UNAVAILABLE, new RoutingExclusions(1)));

  private final List<AttemptId> declined = new ArrayList<>();
  private final RemoteReplica elsewhere =
      new RemoteReplica(
          Replicas.info(
              "far", new DeploymentId("app", "model"), new ReplicaAddress("there", 0, 0, 1), 1),
          true,
          clock,
          declined::add,
          () -> {});

  private static Grant taken(RoutedReplica of, long holdNanos) {
    return Objects.requireNonNull(of.take(holdNanos, 1));
  }

  @Test
  void aSlotToRunOnIsFreeAgain() {
    Grant grant = taken(here, Grant.RUN);
    assertThat(ledger.ongoing()).isOne();
    assertThat(here.take(Grant.RUN, 1)).isNull();
    grant.giveBack(new Asking(0) {});
    Ledgers.assertAtRest(ledger);
    assertThat(here.take(Grant.RUN, 1)).isNotNull();
  }

  @Test
  void aSlotThatIsHeldIsFreeAgainOnce() {
    Grant grant = taken(here, 1_000);
    assertThat(ledger.ongoing()).isOne();
    grant.giveBack(new Asking(0) {});
    grant.giveBack(new Asking(0) {});
    Ledgers.assertAtRest(ledger);
  }

  @Test
  void roomElsewhereIsRoomAgain() {
    Grant grant = taken(elsewhere, Grant.RUN);
    assertThat(elsewhere.own.get()).isOne();
    assertThat(elsewhere.take(Grant.RUN, 1)).isNull();
    grant.giveBack(new Asking(0) {});
    assertThat(elsewhere.own.get()).isZero();
    assertThat(declined).isEmpty();
  }

  @Test
  void anOfferedSlotIsDeclined() {
    AttemptId named = new AttemptId(1, 0, 7);
    elsewhere.offered(
        new RemoteReplica.Offer(named, new SlotToken(1, 1, 1), 1, clock.getAsLong() + 1_000));
    Grant grant = taken(elsewhere, 1_000);

    grant.giveBack(new Asking(0) {});

    assertThat(elsewhere.own.get()).isZero();
    assertThat(declined).containsExactly(named);
  }

  @Test
  void whereThereIsNoSlotNothingComesBack() {
    Grant.UNAVAILABLE.giveBack(new Asking(0) {});
    Ledgers.assertAtRest(ledger);
  }
}
