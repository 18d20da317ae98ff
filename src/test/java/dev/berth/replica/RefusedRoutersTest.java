package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.AWAY;
import static dev.berth.replica.ReplicaRig.AWAY_TOO;
import static dev.berth.replica.ReplicaRig.call;
import static dev.berth.replica.ReplicaRig.callId;
import static dev.berth.replica.slots.Ledgers.assertAtRest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.RecordingBus;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.SlotOffer;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.port.SlotLease;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.replica.ReplicaRig.Waiting;
import dev.berth.replica.slots.SlotLedger;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A freed slot goes in turn to this instance's queue and to routers that were refused. */
class RefusedRoutersTest {
  private final ReplicaRig rig = new ReplicaRig();
  private final Waiting handler = new Waiting();
  private Replica replica;
  private SlotLedger slots;

  @BeforeEach
  void aFullReplica() {
    replica = rig.start(1, handler);
    slots = replica.slots();
    assertThat(slots.tryAcquire()).isTrue();
  }

  private void isRefused(RouterAddress router) {
    isRefused(router, 0);
  }

  private void isRefused(RouterAddress router, long waitedMs) {
    ReplicaRig.Call refused = call(replica).from(router).attempt(rig.attempt()).ifFree();
    refused.waitedMicros = waitedMs * 1_000;
    rig.send(refused);
    assertThat(rig.bus.take()).as("%s is refused", router).first().isInstanceOf(CallRefused.class);
  }

  private SlotOffer offerTo(RouterAddress router) {
    List<RecordingBus.Sent> sent = rig.bus.takeSent();
    assertThat(sent).hasSize(1);
    assertThat(sent.get(0).node()).isEqualTo(router.node());
    assertThat(sent.get(0).address()).isEqualTo(router.busAddress());
    return (SlotOffer) sent.get(0).message();
  }

  /** This instance's queue: takes a freed slot for each of its waiters. */
  private final class OwnQueue implements SlotObserver {
    final ArrayDeque<Integer> waiters = new ArrayDeque<>();
    final List<SlotLease> taken = new ArrayList<>();
    final long since = rig.clock.getAsLong();
    long overtake = Long.MAX_VALUE;
    int freed;

    @Override
    public long maxOvertakeNanos() {
      return overtake;
    }

    void add(int count) {
      for (int i = 0; i < count; i++) {
        waiters.add(i);
      }
    }

    @Override
    public long waitingSince() {
      return waiters.isEmpty() ? NOBODY : since;
    }

    @Override
    public boolean completing(Slots freeing, int done) {
      if (waiters.isEmpty()) {
        return false;
      }
      SlotLease lease = freeing.completeAndHold(Duration.ofSeconds(1).toNanos());
      return lease != null && take(lease);
    }

    private boolean take(SlotLease lease) {
      waiters.remove();
      taken.add(lease);
      return true;
    }

    @Override
    public void onSlotFreed(Slots freeing) {
      freed++;
      while (!waiters.isEmpty()) {
        SlotLease lease = freeing.hold(Duration.ofSeconds(1).toNanos());
        if (lease == null) {
          return;
        }
        take(lease);
      }
    }
  }

  private OwnQueue ownQueue() {
    OwnQueue own = new OwnQueue();
    rig.host.observe(replica.address(), own);
    return own;
  }

  @Test
  void aRefusedRouterIsOfferedTheNextFreeSlotAsAShortLease() {
    isRefused(AWAY);

    slots.complete();

    SlotOffer offer = offerTo(AWAY);
    assertThat(offer.target()).isEqualTo(replica.address());
    assertThat(offer.acceptMicros()).isEqualTo(250_000);
    assertThat(LoadReport.ongoing(offer.load())).isEqualTo(1);
    assertThat(slots.reserved()).isEqualTo(1);
    rig.send(rig.away(replica).by(offer.tokens().get(0)));
    assertThat(handler.calls).isEqualTo(1);
  }

  @Test
  void aRefusedReserveIsNotedToo() {
    rig.askFor(replica, rig.attempt(), 1_000);
    rig.answer(CallRefused.class);
    slots.complete();
    offerTo(AWAY);
  }

  @Test
  void aRouterOfThisInstanceIsNotNotedForItsOwnObserverIsTold() {
    rig.send(call(replica).attempt(rig.attempt()).ifFree());
    rig.answer(CallRefused.class);
    slots.complete();
    assertThat(rig.bus.take()).isEmpty();
    assertThat(slots.ongoing()).isZero();
  }

  @Test
  void aRefusalForAnotherReasonIsNotNoted() {
    replica.setMaxOngoing(2);
    rig.send(rig.away(replica).deadlineMs(0));
    rig.answer(CallRefused.class);
    slots.complete();
    assertThat(rig.bus.take()).isEmpty();
  }

  @Test
  void anOfferNobodyUsesExpiresAndIsNotMadeAgain() {
    isRefused(AWAY);
    slots.complete();
    offerTo(AWAY);

    rig.clock.advance(Duration.ofMillis(250));
    rig.host.sweep(0, 1, mismatch -> {});

    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(slots);
  }

  @Test
  void anOfferGivenBackGoesToTheNextInTheLine() {
    isRefused(AWAY);
    isRefused(AWAY_TOO);
    slots.complete();
    SlotOffer offer = offerTo(AWAY);

    rig.release(replica, offer.attempt());

    List<BusMessage> sent = rig.bus.take();
    assertThat(sent).hasSize(2);
    assertThat(sent.get(0)).isInstanceOf(SlotOffer.class);
    assertThat(LoadReport.ongoing(((BusMessage.CallRefused) sent.get(1)).load())).isEqualTo(1);
    assertThat(replica.refused.waiting()).isZero();
  }

  @Test
  void aRouterThatUsesItsOfferIsOfferedAgainAndOneThatDoesNotIsNot() {
    isRefused(AWAY);
    slots.complete();
    SlotOffer offer = offerTo(AWAY);
    rig.send(rig.away(replica).by(offer.tokens().get(0)));
    handler.answer();

    List<BusMessage> sent = rig.bus.take();
    assertThat(sent).hasSize(2);
    SlotOffer again = (SlotOffer) sent.get(0);
    rig.release(replica, again.attempt());
    rig.bus.take();
    assertThat(replica.refused.waiting()).isZero();
    assertAtRest(slots);
  }

  @Test
  void aRouterRefusedManyTimesStandsInTheLineOnce() {
    for (int i = 0; i < 5; i++) {
      isRefused(AWAY);
    }
    isRefused(AWAY_TOO);
    assertThat(replica.refused.waiting()).isEqualTo(2);

    slots.complete();
    SlotOffer first = offerTo(AWAY);
    rig.release(replica, first.attempt());

    assertThat(rig.bus.takeSent().get(0).node()).isEqualTo(AWAY_TOO.node());
  }

  @Test
  void aFreedSlotGoesToWhoHasWaitedLongestAndElsewhereForMoreThanAnOfferTakes() {
    OwnQueue own = ownQueue();
    own.add(3);
    isRefused(AWAY, 5);
    assertOwn(own, 1);
    isRefused(AWAY_TOO, 6);
    replica.settleSlots(1);
    SlotOffer offer = offerTo(AWAY_TOO);
    rig.send(
        call(replica).from(AWAY_TOO).id(callId(1, 1)).by(offer.tokens().get(0))); // it just came
    assertOwn(own, 2);
    assertOwn(own, 3);
    replica.settleSlots(1);
    offerTo(AWAY); // none waits here, and it is the older one
  }

  private void assertOwn(OwnQueue own, int taken) {
    replica.settleSlots(1); // as a request that completes
    assertThat(rig.bus.take()).isEmpty();
    assertThat(own.taken).hasSize(taken);
    own.taken.get(taken - 1).consume();
  }

  @Test
  void whoIsRefusedAgainAndAgainGrowsOlder() {
    OwnQueue own = ownQueue();
    own.add(1);
    isRefused(AWAY, 3);
    rig.clock.advance(Duration.ofMillis(100));
    isRefused(AWAY, 103);
    isRefused(AWAY_TOO, 4);
    assertOwn(own, 1);
    replica.settleSlots(1);
    offerTo(AWAY);
  }

  @Test
  void nobodyWaitingHereARefusedRouterGetsEverySlot() {
    ownQueue();
    isRefused(AWAY);
    for (int i = 0; i < 4; i++) {
      replica.settleSlots(1);
      SlotOffer offer = offerTo(AWAY);
      rig.send(rig.away(replica).id(callId(1, i)).by(offer.tokens().get(0)));
    }
  }

  @Test
  void offerThatAnotherLoopOfItsInstanceUsesKeepsTheInstanceInLine() {
    isRefused(AWAY);
    slots.complete();
    SlotOffer offer = offerTo(AWAY);
    RouterAddress beside = new RouterAddress(AWAY.node(), 1);
    rig.send(call(replica).from(beside).attempt(rig.attempt()).by(offer.tokens().get(0)));

    replica.settleSlots(1);

    offerTo(beside);
  }

  @Test
  void nobodyRefusedTheOwnQueueGetsEverySlotInOneStep() {
    OwnQueue own = ownQueue();
    own.add(4);
    for (int i = 0; i < 4; i++) {
      replica.settleSlots(1);
      assertThat(own.taken).hasSize(i + 1);
      own.taken.get(i).consume();
    }
    assertThat(own.freed).as("handed over, never free").isZero();
    replica.settleSlots(1);
    assertAtRest(slots);
  }

  @Test
  void aRaisedMaxServesBothSides() {
    OwnQueue own = ownQueue();
    own.add(2);
    isRefused(AWAY);
    isRefused(AWAY_TOO);

    replica.setMaxOngoing(4);

    assertThat(own.taken).hasSize(2);
    offerTo(AWAY);
    assertThat(replica.refused.waiting()).isEqualTo(1);
  }

  @Test
  void aSlotFreedBetweenTheRefusalAndTheNoteIsOfferedAtOnce() {
    rig.bus.onSend(
        sent -> {
          if (sent.message() instanceof CallRefused) {
            slots.complete(); // on another thread, say
          }
        });
    rig.send(rig.away(replica));

    List<BusMessage> sent = rig.bus.take();
    assertThat(sent.get(0)).isInstanceOf(CallRefused.class);
    assertThat(sent.get(1)).isInstanceOf(SlotOffer.class);
  }

  @Test
  void anOfferThatCannotBeSentGoesToTheNextRouterAndStrandsNothing() {
    isRefused(AWAY);
    isRefused(AWAY_TOO);
    rig.bus.acceptOnly(sent -> !sent.node().equals(AWAY.node()));

    slots.complete();

    offerTo(AWAY_TOO);
    assertThat(slots.ongoing()).isEqualTo(1);
    rig.clock.advance(Duration.ofSeconds(1));
    rig.host.sweep(0, 1, mismatch -> {});
    assertAtRest(slots);
  }

  @Test
  void offersThatNobodyCanBeSentLeaveTheSlotToTheOwnQueue() {
    OwnQueue own = ownQueue();
    isRefused(AWAY, 10);
    isRefused(AWAY_TOO, 10);
    own.add(1);
    rig.bus.acceptOnly(sent -> false);

    replica.settleSlots(1);

    assertThat(own.taken).hasSize(1);
    assertThat(replica.refused.waiting()).isZero();
  }

  @Test
  void aRouterWhoseSlotSomebodyFasterTookKeepsItsPlace() {
    isRefused(AWAY);
    Slots aMomentAgo =
        (Slots)
            Proxy.newProxyInstance(
                Slots.class.getClassLoader(),
                new Class<?>[] {Slots.class},
                (proxy, asked, with) ->
                    asked.getName().equals("ongoing") ? (Object) 0 : asked.invoke(slots, with));

    replica.refused.onSlotFreed(aMomentAgo);

    assertThat(replica.refused.waiting()).isOne();
  }

  @Test
  void routersBeyondTheBoundAreNotNotedAndCounted() {
    for (int i = 0; i < 300; i++) {
      isRefused(new RouterAddress("peer" + i, 0));
    }
    assertThat(replica.refused.waiting()).isEqualTo(256);
    assertThat(replica.refused.forgotten.sum()).isEqualTo(44);
  }

  @Test
  void aRouterWithoutItsPlaceInTheLineMakesRoomForAnother() {
    for (int i = 0; i < 256; i++) {
      isRefused(new RouterAddress("peer" + i, 0));
    }
    slots.complete(); // the first is offered it, and leaves the line
    rig.bus.take();

    isRefused(AWAY);

    assertThat(replica.refused.waiting()).isEqualTo(256);
    assertThat(replica.refused.forgotten.sum()).isZero();
  }

  private void largeIsRefused() {
    replica.setMaxOngoing(2);
    assertThat(slots.tryAcquire()).isTrue();
    ReplicaRig.Call large = call(replica).from(AWAY).attempt(rig.attempt()).ifFree();
    large.cost = 2;
    rig.send(large);
    rig.answer(CallRefused.class);
  }

  @Test
  void largeRemoteRequestIsOvertakenForTheMaximumTimeAtMost() {
    ownQueue().overtake = Duration.ofMillis(100).toNanos();
    largeIsRefused();
    rig.clock.advance(Duration.ofMillis(99));
    replica.settleSlots(1);
    assertThat(slots.tryAcquire()).isTrue();
    rig.clock.advance(Duration.ofMillis(1));
    replica.settleSlots(1);
    assertThat(slots.tryAcquire()).isFalse();
    assertThat(rig.bus.take()).isEmpty();

    replica.settleSlots(1);

    assertThat(offerTo(AWAY).cost()).isEqualTo(2);
    assertThat(slots.reserved()).isEqualTo(2);
  }

  @Test
  void remoteRequestAboveTheLoweredMaximumHoldsNoPlace() {
    ownQueue().overtake = 0;
    largeIsRefused();
    replica.setMaxOngoing(1);
    replica.settleSlots(1);
    replica.settleSlots(1);
    assertThat(replica.refused.waiting()).isZero();
    assertThat(slots.tryAcquire()).isTrue();
  }

  @Test
  void anInstanceThatLeftIsOfferedNothing() {
    isRefused(AWAY);
    isRefused(AWAY_TOO);
    rig.loop().routersLost(AWAY.node());
    slots.complete();
    offerTo(AWAY_TOO);
    assertThat(replica.refused.waiting()).isZero();
  }

  @Test
  void aDrainingReplicaOffersNothing() {
    isRefused(AWAY);
    replica.drain();
    slots.complete();
    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(slots);
  }
}
