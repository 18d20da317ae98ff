package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.AWAY;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.Admission;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BusMessage.SlotOffer;
import dev.berth.protocol.SlotDemand;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.replica.batch.BatchProbe;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Offers of the slots of a batch to the router of another instance. */
class BatchOffersTest extends BatchingRig {
  /** A replica with four slots, at which a batch of four runs. */
  private void full() {
    start(rules(4, 10, 1), 4, later);
    send("a", "b", "c", "d");
    assertThat(batches).hasSize(1);
    outcomes();
    rig.bus.takeSent();
  }

  private ReplicaRig.Call remote(String body, int behind) {
    ReplicaRig.Call made = call(body).from(AWAY).attempt(rig.attempt());
    made.cost = SlotDemand.of(1, behind);
    made.waitedMicros = 50_000;
    return made;
  }

  private void isRefused(int behind) {
    rig.send(remote("refused", behind).ifFree());
    rig.runAll();
    outcomes();
    rig.bus.takeSent();
  }

  /** Ends the leases of offers that no request uses. */
  @AfterEach
  void expire() {
    replica.refused.nodeLeft(AWAY.node(), replica.slots());
    rig.clock.advance(Duration.ofSeconds(1));
    replica.slots().sweep();
  }

  private SlotOffer onlyOffer() {
    List<SlotOffer> offers =
        rig.bus.takeSent().stream()
            .map(each -> each.message())
            .filter(SlotOffer.class::isInstance)
            .map(SlotOffer.class::cast)
            .toList();
    assertThat(offers).hasSize(1);
    return offers.get(0);
  }

  private void use(SlotOffer offer, int token, String body) {
    rig.send(remote(body, 0).by(new Admission.Token(offer.tokens().get(token))));
    rig.runAll();
  }

  @Test
  void oneMessageOffersTheSlotsOfABatch() {
    full();
    isRefused(9);

    finishOldest();

    SlotOffer offer = onlyOffer();
    assertThat(offer.tokens()).hasSize(4).doesNotHaveDuplicates();
    assertThat(replica.slots().reserved()).isEqualTo(4);
    for (int i = 0; i < 4; i++) {
      assertThat(batches).hasSize(1);
      use(offer, i, "r" + i);
    }
    assertThat(batches).hasSize(2).last().isEqualTo(List.of("r0", "r1", "r2", "r3"));
  }

  @Test
  void anOfferHasNoMoreSlotsThanItsRouterHasRequests() {
    full();
    isRefused(1);

    finishOldest();

    SlotOffer offer = onlyOffer();
    assertThat(offer.tokens()).hasSize(2);
    use(offer, 0, "r0");
    assertThat(batches).as("the other one is on its way").hasSize(1);
    use(offer, 1, "r1");
    assertThat(batches).hasSize(2).last().isEqualTo(List.of("r0", "r1"));
  }

  @Test
  void acceptedRequestWithOthersBehindItNeedsNoRefusal() {
    start(rules(4, 10, 1), 4, later);
    for (int i = 0; i < 4; i++) {
      ReplicaRig.Call accepted = remote("r" + i, 5 - i).ifFree();
      accepted.waitedMicros = 0;
      rig.send(accepted);
    }
    rig.runAll();
    assertThat(batches).hasSize(1);
    rig.bus.takeSent();

    finishOldest();

    SlotOffer offer = onlyOffer();
    assertThat(offer.tokens()).hasSize(2);
    use(offer, 0, "r4");
    use(offer, 1, "r5");
  }

  @Test
  void declinedSlotsEndTheHold() {
    full();
    isRefused(3);
    finishOldest();
    SlotOffer offer = onlyOffer();
    rig.release(replica, offer.attempt().plus(1));
    rig.release(replica, offer.attempt().plus(2));
    use(offer, 0, "r0");
    assertThat(batches).as("one is on its way").hasSize(1);
    use(offer, 3, "r3");
    assertThat(batches).hasSize(2).last().isEqualTo(List.of("r0", "r3"));
  }

  @Test
  void silentRouterHoldsTheNextBatchForAMomentOnly() {
    full();
    isRefused(1);
    finishOldest();
    SlotOffer offer = onlyOffer();
    use(offer, 0, "r0");
    assertThat(batches).hasSize(1);

    pass(2);

    assertThat(batches).hasSize(2).last().isEqualTo(List.of("r0"));
  }

  @Test
  void olderLocalWaitersGetTheSlotsOfAnEndedBatch() {
    full();
    List<Integer> rooms = new ArrayList<>();
    rig.host.observe(
        replica.address(),
        new SlotObserver() {
          @Override
          public long waitingSince() {
            return rig.clock.getAsLong() - 1_000_000_000;
          }

          @Override
          public void onSlotFreed(Slots freed) {
            if (!rooms.isEmpty()) {
              return;
            }
            BatchGroup next = BatchProbe.open(seats(), "", rig.clock.getAsLong());
            if (next != null && freed.tryAcquire(4)) {
              rooms.add(next.room());
            }
            if (next != null) {
              next.seal();
            }
          }
        });
    isRefused(9);

    finishOldest();

    assertThat(rooms).first().isEqualTo(4);
    assertThat(rig.bus.takeSent()).noneMatch(each -> each.message() instanceof SlotOffer);
    replica.slots().complete(4);
  }

  @Test
  void slotsOfLocalWaitersForAPlaceAreNotOffered() {
    start(rules(4, 10, 1), 8, later);
    assertThat(replica.slots().tryAcquire(4)).isTrue();
    send("a", "b", "c", "d");
    assertThat(batches).hasSize(1);
    rig.host.observe(
        replica.address(),
        new SlotObserver() {
          @Override
          public int slotsNeeded() {
            return 3;
          }

          @Override
          public long waitingSince() {
            return rig.clock.getAsLong() - 1_000_000_000;
          }

          @Override
          public void onSlotFreed(Slots freed) {} // no batch can start
        });
    isRefused(9);

    replica.slots().complete(4);

    assertThat(onlyOffer().tokens()).hasSize(1);
  }
}
