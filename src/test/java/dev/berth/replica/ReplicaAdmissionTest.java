package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.AWAY;
import static dev.berth.replica.ReplicaRig.OWN;
import static dev.berth.replica.ReplicaRig.answering;
import static dev.berth.replica.ReplicaRig.call;
import static dev.berth.replica.ReplicaRig.callId;
import static dev.berth.replica.slots.Ledgers.assertAtRest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.Response;
import dev.berth.protocol.Admission;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.CancelCall;
import dev.berth.protocol.BusMessage.RenewLease;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.protocol.BusMessage.SlotReserved;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.SlotToken;
import dev.berth.replica.ReplicaRig.Call;
import dev.berth.replica.ReplicaRig.Waiting;
import dev.berth.replica.slots.LedgerLimits;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a replica lets run: by which right, and at most once whatever the bus does to messages. */
class ReplicaAdmissionTest {
  private final ReplicaRig rig = new ReplicaRig();
  private final Waiting handler = new Waiting();
  private final Replica replica = rig.start(2, handler);

  private void fill() {
    while (replica.slots().tryAcquire()) {
      // All of them.
    }
  }

  @Test
  void aHeldRequestRunsOnTheSlotItsRouterTookAndItsAnswerReportsItFree() {
    Replica replica = rig.start(1, answering(Response.text("ok")));

    rig.sendHeld(replica, callId(3, 1));

    CallResponse answer = rig.answer(CallResponse.class);
    assertThat(answer.callId()).isEqualTo(callId(3, 1));
    assertThat(answer.body().toString()).isEqualTo("ok");
    assertThat(answer.streamed()).isFalse();
    assertThat(LoadReport.ongoing(answer.load())).isZero();
    assertThat(rig.loop().invocations()).isZero();
    assertThat(replica.processedRequests()).isEqualTo(1);
    assertAtRest(replica.slots());
  }

  @Test
  void aRequestIfFreeIsAcceptedAtOnceAndAnsweredWhenItsHandlerIsDone() {
    rig.send(rig.away(replica));
    CallAccepted accepted = rig.answer(CallAccepted.class);
    assertThat(LoadReport.ongoing(accepted.load())).isEqualTo(1);
    handler.answer();
    assertThat(LoadReport.ongoing(rig.answer(CallResponse.class).load())).isZero();
    assertAtRest(replica.slots());
  }

  @Test
  void aRequestIfFreeAtCapacityIsRefusedWithTheOngoingCount() {
    fill();

    rig.send(rig.away(replica));

    CallRefused refused = rig.answer(CallRefused.class);
    assertThat(refused.reason()).isEqualTo(Refusal.FULL);
    assertThat(LoadReport.ongoing(refused.load())).isEqualTo(2);
    assertThat(LoadReport.max(refused.load())).isEqualTo(2);
    assertThat(handler.calls).isZero();
  }

  @Test
  void aRequestWithATokenRunsOnItsReservedSlotAndTakesNoOther() {
    SlotToken token = rig.reserve(replica, rig.attempt(), 10_000);

    rig.send(rig.away(replica).by(token));

    assertThat(handler.calls).isEqualTo(1);
    assertThat(replica.slots().ongoing()).isEqualTo(1);
    handler.answer();
    rig.answer(CallResponse.class);
    assertAtRest(replica.slots());
  }

  /** The clock alone says that it ran out: nothing has swept it. */
  @Test
  void aTokenThatIsForgedOrUsedOrOverIsRefusedAndDoesNotRun() {
    rig.send(rig.away(replica).by(new SlotToken(replica.address().epoch(), 1, 42)));
    assertThat(rig.refusal()).isEqualTo(Refusal.UNKNOWN_TOKEN);
    SlotToken over = rig.reserve(replica, rig.attempt(), 100);
    rig.clock.advance(Duration.ofMillis(100));
    rig.send(rig.away(replica).by(over));
    assertThat(rig.refusal()).isEqualTo(Refusal.EXPIRED);
    assertThat(handler.calls).isZero();
    assertAtRest(replica.slots());
    SlotToken used = rig.reserve(replica, rig.attempt(), 10_000);
    rig.send(rig.away(replica).by(used));
    rig.send(rig.away(replica).id(callId(2, 1)).by(used));
    assertThat(rig.refusal()).isEqualTo(Refusal.ALREADY_USED);
    assertThat(handler.calls).isEqualTo(1);
  }

  @Test
  void aDuplicateOfARunningOrFinishedRequestIsDroppedWithoutAnAnswer() {
    Call call = rig.away(replica);
    rig.send(call);
    rig.bus.take();
    rig.send(call);
    assertThat(rig.bus.take()).as("a refusal would have it run elsewhere too").isEmpty();
    assertThat(rig.loop().duplicates.sum()).isEqualTo(1);
    handler.answer();
    rig.bus.take();
    rig.send(call);
    assertThat(rig.bus.take()).isEmpty();
    assertThat(handler.calls).isEqualTo(1);
    assertAtRest(replica.slots());
  }

  @Test
  void aDuplicateOfARefusedRequestDoesNotRunWhenASlotIsFreeAgain() {
    fill();
    Call call = rig.away(replica);
    rig.send(call);
    replica.slots().complete();
    rig.bus.take();

    rig.send(call);

    assertThat(rig.bus.take()).isEmpty();
    assertThat(handler.calls).isZero();
  }

  @Test
  void aDuplicateOfAHeldRequestDoesNotRunOrFreeItsSlotTwice() {
    rig.sendHeld(replica, callId(1, 1));
    rig.send(call(replica));
    assertThat(handler.calls).isEqualTo(1);
    assertThat(replica.slots().ongoing()).isEqualTo(1);
    handler.answer();
    assertAtRest(replica.slots());
  }

  @Test
  void aCancelThatOvertakesItsRequestKeepsItFromRunning() {
    AttemptId attempt = rig.attempt();
    rig.loop().onMessage(new CancelCall(callId(1, 1), AWAY, attempt, replica.address(), false));
    assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(BerthException.Kind.CANCELLED);

    rig.send(call(replica).from(AWAY).attempt(attempt).ifFree());

    assertThat(handler.calls).isZero();
    assertThat(rig.bus.take()).isEmpty();
    assertThat(rig.loop().duplicates.sum()).isEqualTo(1);
    assertAtRest(replica.slots());
  }

  @Test
  void aRequestFromElsewhereThatClaimsToHoldASlotIsRefusedAndCounted() {
    replica.slots().tryAcquire(); // another's, which the liar must not give away
    rig.send(call(replica).from(AWAY));
    assertThat(rig.refusal()).isEqualTo(Refusal.UNKNOWN_TOKEN);
    assertThat(rig.loop().falselyHeld.sum()).isEqualTo(1);
    assertThat(handler.calls).isZero();
    assertThat(replica.slots().ongoing()).isEqualTo(1);
  }

  @Test
  void aMessageForAnotherIncarnationIsRefusedAsForeign() {
    ReplicaAddress mine = replica.address();
    ReplicaAddress foreign =
        new ReplicaAddress(mine.node(), mine.loop(), mine.ordinal(), mine.epoch() + 1);

    rig.send(call(replica).to(foreign).from(AWAY).ifFree());
    assertThat(rig.refusal()).isEqualTo(Refusal.FOREIGN_EPOCH);
    rig.loop().onMessage(new ReserveSlot(callId(1, 1), AWAY, rig.attempt(), foreign, 1_000, -1, 1));
    assertThat(rig.refusal()).isEqualTo(Refusal.FOREIGN_EPOCH);
    assertThat(handler.calls).isZero();
  }

  @Test
  void aMessageForNoReplicaIsRefusedAsUnknown() {
    for (int ordinal : new int[] {-1, 1, 70_000}) {
      ReplicaAddress nowhere = new ReplicaAddress("n1", 0, ordinal, replica.address().epoch());
      rig.send(call(replica).to(nowhere).from(AWAY).ifFree());
      CallRefused refused = rig.answer(CallRefused.class);
      assertThat(refused.reason()).isEqualTo(Refusal.UNKNOWN_REPLICA);
      assertThat(refused.load()).isEqualTo(LoadReport.NONE);
    }
  }

  @Test
  void aRequestWithoutTimeLeftIsRefusedAndItsLateDuplicateToo() {
    Call call = rig.away(replica).deadlineMs(0);
    rig.send(call);
    assertThat(rig.refusal()).isEqualTo(Refusal.TOO_LATE);
    rig.send(call.deadlineMs(1_000)); // as if the bus had it twice, and one were older
    assertThat(handler.calls).isZero();
    assertAtRest(replica.slots());
  }

  @Test
  void aRefusedHeldRequestGivesItsSlotBack() {
    rig.sendHeld(call(replica).deadlineMs(0));
    CallRefused refused = rig.answer(CallRefused.class);
    assertThat(refused.reason()).isEqualTo(Refusal.TOO_LATE);
    assertThat(LoadReport.ongoing(refused.load())).isZero();
    assertAtRest(replica.slots());
  }

  @Test
  void aRequestRefusedForMoreThanItsTokenGivesTheTokensSlotBack() {
    Call late = call(replica).deadlineMs(0);
    Call beyond = call(replica).id(callId(RouterSession.MAX_CALLS, 1));
    for (Call refused : List.of(late, beyond)) {
      SlotToken token = rig.reserve(replica, rig.attempt(), 10_000);

      rig.send(refused.from(AWAY).attempt(rig.attempt()).by(new Admission.Token(token)));

      assertThat(rig.refusal()).isEqualTo(refused == late ? Refusal.TOO_LATE : Refusal.OVERLOADED);
      assertAtRest(replica.slots());
    }
  }

  @Test
  void aRequestWhoseAcceptTimeIsUsedUpIsRefusedTooLate() {
    rig.send(rig.away(replica).acceptMicros(0));
    assertThat(rig.refusal()).isEqualTo(Refusal.TOO_LATE);
    assertAtRest(replica.slots());
  }

  @Test
  void whatComesTooLateTakesNothing() {
    rig.loop()
        .onMessage(
            new ReserveSlot(callId(2, 1), AWAY, rig.attempt(), replica.address(), 10_000, 0, 1));
    assertThat(rig.refusal()).isEqualTo(Refusal.TOO_LATE);
    assertAtRest(replica.slots());
    SlotToken token = rig.reserve(replica, rig.attempt(), 1_000);
    rig.clock.advance(Duration.ofMillis(900));
    rig.loop()
        .onMessage(
            new RenewLease(callId(2, 1), AWAY, rig.attempt(), replica.address(), token, 1_000, 0));
    assertThat(rig.refusal()).isEqualTo(Refusal.TOO_LATE);
    rig.clock.advance(Duration.ofMillis(100));
    replica.slots().sweep();
    assertAtRest(replica.slots());
  }

  @Test
  void aRequestThatComesTooLateByATokenEndsItsLease() {
    SlotToken token = rig.reserve(replica, rig.attempt(), 10_000);
    rig.send(rig.away(replica).by(token).acceptMicros(0));
    assertThat(rig.refusal()).isEqualTo(Refusal.TOO_LATE);
    assertThat(handler.calls).isZero();
    assertAtRest(replica.slots());
  }

  @Test
  void aCallIdBeyondTheBoundOfTheTableIsRefusedAsOverloaded() {
    for (int place : new int[] {RouterSession.MAX_CALLS, -1}) {
      AttemptId attempt = rig.attempt();
      rig.send(
          call(replica).id(callId(place, 0) & 0xFFFFFFFFL).from(AWAY).attempt(attempt).ifFree());
      assertThat(rig.refusal()).isEqualTo(Refusal.OVERLOADED);
      rig.send(call(replica).id(callId(1, 1)).from(AWAY).attempt(attempt).ifFree());
      assertThat(rig.bus.take()).as("it must not run after a refusal").isEmpty();
    }
    assertThat(handler.calls).isZero();
  }

  @Test
  void everyPlaceOfTheTableCanBeUsed() {
    replica.setMaxOngoing(10);
    int[] places = {0, 63, 64, 1_000, RouterSession.MAX_CALLS - 1};
    for (int place : places) {
      rig.sendHeld(replica, callId(place, 5));
    }
    for (int place : places) {
      handler.answer();
      assertThat(rig.answer(CallResponse.class).callId()).isEqualTo(callId(place, 5));
    }
    assertAtRest(replica.slots());
  }

  @Test
  void aCallWhosePlaceItsRouterUsesAgainIsCancelled() {
    rig.sendHeld(replica, callId(4, 1));
    rig.sendHeld(replica, callId(4, 2));

    assertThat(handler.contexts.remove().cancelled()).isTrue();
    assertThat(handler.contexts.remove().cancelled()).isFalse();
    handler.answer();
    assertThat(rig.bus.take()).as("the first is answered no more").isEmpty();
    handler.answer();
    assertThat(rig.answer(CallResponse.class).callId()).isEqualTo(callId(4, 2));
    assertAtRest(replica.slots());
  }

  @Test
  void aLateCallWhosePlaceItsRouterUsesAgainDoesNotRunAndCancelsNothing() {
    rig.send(rig.away(replica).id(callId(4, 2)));
    rig.bus.take();

    rig.send(rig.away(replica).id(callId(4, 1)));

    assertThat(handler.calls).isOne();
    assertThat(handler.contexts.remove().cancelled()).isFalse();
    assertThat(rig.bus.take()).as("nobody waits for an answer").isEmpty();
    assertThat(rig.loop().duplicates.sum()).isOne();
    handler.answer();
    assertThat(rig.answer(CallResponse.class).callId()).isEqualTo(callId(4, 2));
    assertAtRest(replica.slots());
  }

  @Test
  void aCallOfARestartedRouterIsNoLateOneWhateverItsGeneration() {
    rig.send(rig.away(replica).id(callId(4, 2)));
    rig.send(call(replica).id(callId(4, 1)).from(AWAY).attempt(new AttemptId(100, 0, 1)).ifFree());
    assertThat(handler.calls).isEqualTo(2);
    assertThat(handler.contexts.remove().cancelled()).as("its router is no more").isTrue();
  }

  @Test
  void aCancelOfAnOldGenerationDoesNotTouchTheNewOne() {
    rig.sendHeld(replica, callId(4, 2));
    rig.cancel(replica, callId(4, 1));
    assertThat(handler.contexts.remove().cancelled()).isFalse();
  }

  @Test
  void aReserveIsAnsweredWithItsTokenAndCountsAsOngoing() {
    AttemptId attempt = rig.attempt();

    rig.askFor(replica, attempt, 10_000);

    SlotReserved reserved = rig.answer(SlotReserved.class);
    assertThat(reserved.callId()).isEqualTo(callId(9, 1));
    assertThat(reserved.attempt()).isEqualTo(attempt);
    assertThat(reserved.ttlMicros()).isEqualTo(10_000_000);
    assertThat(LoadReport.ongoing(reserved.load())).isEqualTo(1);
    rig.askFor(replica, rig.attempt(), Long.MAX_VALUE);
    assertThat(rig.answer(SlotReserved.class).ttlMicros())
        .as("cut to the ledger's longest")
        .isEqualTo(Duration.ofNanos(LedgerLimits.DEFAULTS.maxTtlNanos()).toNanos() / 1_000);
  }

  @Test
  void aReleaseIsAnsweredWithTheLoadAfterIt() {
    AttemptId attempt = rig.attempt();
    rig.reserve(replica, attempt, 10_000);
    rig.release(replica, attempt);
    assertThat(LoadReport.ongoing(rig.answer(CallRefused.class).load())).isZero();
    assertAtRest(replica.slots());
  }

  @Test
  void aReleaseThatOvertakesItsReserveHasItRefused() {
    AttemptId attempt = rig.attempt();
    rig.release(replica, attempt);
    rig.bus.take();
    rig.askFor(replica, attempt, 10_000);
    assertThat(rig.refusal()).isEqualTo(Refusal.REVOKED);
    assertAtRest(replica.slots());
  }

  @Test
  void aRenewedLeaseLastsItsFullTimeFromNow() {
    SlotToken token = rig.reserve(replica, rig.attempt(), 1_000);
    rig.clock.advance(Duration.ofMillis(900));

    rig.renew(replica, token, 1_000);

    assertThat(rig.answer(SlotReserved.class).ttlMicros()).isEqualTo(1_000_000);
    rig.clock.advance(Duration.ofMillis(900));
    rig.send(rig.away(replica).by(token));
    assertThat(handler.calls).isEqualTo(1);
  }

  @Test
  void aRenewalOfAnEndedLeaseSaysHowItEnded() {
    SlotToken token = rig.reserve(replica, rig.attempt(), 1_000);
    rig.clock.advance(Duration.ofMillis(1_000));
    rig.renew(replica, token, 1_000);
    assertThat(rig.refusal()).isEqualTo(Refusal.EXPIRED);
  }

  @Test
  void answersGoToTheLoopThatAsked() {
    Replica replica = rig.start(3, answering(Response.text("ok")));

    rig.sendHeld(replica, callId(1, 1));
    rig.send(rig.away(replica));

    assertThat(rig.bus.takeSent())
        .extracting(sent -> sent.node() + " " + sent.address())
        .containsExactly(
            "n1 " + OWN.busAddress(), "n2 " + AWAY.busAddress(), "n2 " + AWAY.busAddress());
  }

  @Test
  void aMessageForARouterIsIgnored() {
    rig.loop().onMessage(new CallAccepted(1, LoadReport.NONE));
    assertThat(rig.bus.take()).isEmpty();
  }

  @Test
  void routersBeyondTheBoundOfTablesAreRefusedUntilOthersAreIdle() {
    replica.setMaxOngoing(ReplicaLoop.MAX_PEERS + 10);
    for (int i = 0; i <= ReplicaLoop.MAX_PEERS; i++) {
      rig.send(fromPeer(replica, i));
    }
    assertThat(rig.bus.take().stream().filter(CallRefused.class::isInstance)).hasSize(1);
    assertThat(handler.calls).isEqualTo(ReplicaLoop.MAX_PEERS);

    handler.answer();
    rig.bus.take();
    rig.send(fromPeer(replica, ReplicaLoop.MAX_PEERS + 1));

    rig.answer(CallAccepted.class);
  }

  private Call fromPeer(Replica replica, int peer) {
    return call(replica).from(new RouterAddress("peer" + peer, 0)).attempt(rig.attempt()).ifFree();
  }
}
