package dev.berth.replica;

import static dev.berth.replica.ReplicaRig.AWAY;
import static dev.berth.replica.ReplicaRig.OWN;
import static dev.berth.replica.ReplicaRig.call;
import static dev.berth.replica.ReplicaRig.callId;
import static dev.berth.replica.slots.Ledgers.assertAtRest;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException.Kind;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage.CallAccepted;
import dev.berth.protocol.BusMessage.CallFailed;
import dev.berth.protocol.BusMessage.CallResponse;
import dev.berth.protocol.BusMessage.CancelCall;
import dev.berth.protocol.BusMessage.RecallCall;
import dev.berth.protocol.BusMessage.RequestCredit;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.SlotToken;
import dev.berth.replica.ReplicaRig.Call;
import dev.berth.replica.ReplicaRig.Waiting;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What a replica says of a call whose router has heard nothing, in each state it can be in. */
class RecallCallTest {
  private final ReplicaRig rig = new ReplicaRig();
  private final Waiting handler = new Waiting();
  private final Replica replica = rig.start(1, handler);
  private final Call call = rig.away(replica).id(callId(3, 1));

  private void recall() {
    rig.loop().onMessage(new RecallCall(call.callId, call.source, call.attempt, replica.address()));
  }

  private void assertUnknown() {
    assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(Kind.OUTCOME_UNKNOWN);
  }

  @Test
  void oneThatHasNotComeNeverRuns() {
    recall();
    assertThat(rig.refusal()).isEqualTo(Refusal.RECALLED);
    recall();
    assertThat(rig.refusal()).as("its answer was lost").isEqualTo(Refusal.RECALLED);

    rig.send(call);

    assertThat(handler.calls).isZero();
    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(replica.slots());
  }

  @Test
  void oneThatRunsGoesOnAndIsAnswered() {
    rig.send(call);
    rig.bus.take();

    recall();

    assertThat(LoadReport.ongoing(rig.answer(CallAccepted.class).load())).isOne();
    assertThat(handler.contexts.remove().cancelled()).isFalse();
    handler.answer();
    rig.answer(CallResponse.class);
    assertThat(handler.calls).isOne();
  }

  @Test
  void oneThatRunsUnderATokenIsToldToRun() {
    SlotToken token = rig.reserve(replica, rig.attempt(), 10_000);
    rig.send(call.by(token));
    recall();
    rig.answer(CallAccepted.class);
  }

  @Test
  void oneThatWasRefusedNeverRunsThoughASlotIsFreeByNow() {
    replica.slots().tryAcquire();
    rig.send(call);
    replica.slots().complete();
    rig.bus.take();
    recall();
    assertThat(rig.refusal()).isEqualTo(Refusal.RECALLED);
    assertThat(handler.calls).isZero();
  }

  @Test
  void oneThatWasAnsweredMayHaveRun() {
    rig.send(call);
    handler.answer();
    rig.bus.take();
    recall();
    assertUnknown();
  }

  @Test
  void oneThatWasCancelledAndHasNotSettledMayHaveRun() {
    rig.send(call);
    rig.loop().routersLost(AWAY.node());
    rig.bus.take();
    recall();
    assertUnknown();
    handler.answer();
    assertAtRest(replica.slots());
  }

  @Test
  void ofAReplicaThatIsNotThereAnyMoreItIsNotKnown() {
    ReplicaAddress at = replica.address();
    rig.loop()
        .onMessage(
            new RecallCall(
                call.callId,
                AWAY,
                call.attempt,
                new ReplicaAddress(at.node(), at.loop(), at.ordinal(), at.epoch() + 1)));
    assertUnknown();
  }

  /** Its place has another by now. */
  @Test
  void anotherAttemptInItsPlaceIsNotIt() {
    rig.send(call);
    rig.bus.take();
    AttemptId other = rig.attempt();
    rig.loop().onMessage(new RecallCall(call.callId, AWAY, other, replica.address()));
    assertThat(rig.refusal()).isEqualTo(Refusal.RECALLED);
    assertThat(handler.contexts.remove().cancelled()).isFalse();
  }

  // --- cancels ---

  private void cancel(RouterAddress source, boolean timedOut) {
    rig.loop()
        .onMessage(new CancelCall(call.callId, source, call.attempt, replica.address(), timedOut));
  }

  @Test
  void aCancelFromElsewhereIsAnsweredEachTimeAndNothingElseIs() {
    rig.send(call);
    rig.bus.take();
    for (int i = 0; i < 2; i++) {
      cancel(AWAY, false);
      assertThat(rig.answer(CallFailed.class).kind()).isEqualTo(Kind.CANCELLED);
    }
    handler.answer();
    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(replica.slots());
  }

  @Test
  void aCancelThatNobodyRepeatsIsNotAnswered() {
    cancel(OWN, false);
    cancel(AWAY, true);
    assertThat(rig.bus.take()).isEmpty();
  }

  // --- a link that takes nothing now ---

  @Test
  void anAnswerThatItsLinkDoesNotTakeIsSentWhenItDoes() {
    rig.send(call);
    rig.bus.take();
    rig.bus.acceptOnly(none -> false);
    handler.answer();
    assertThat(replica.slots().ongoing()).isZero();
    rig.pass(Duration.ofMillis(100));
    rig.bus.acceptOnly(any -> true);

    rig.pass(Duration.ofMillis(25));

    CallResponse answer = rig.answer(CallResponse.class);
    assertThat(answer.body()).hasToString("ok");
    assertThat(answer.streamed()).isFalse();
    rig.pass(Duration.ofMillis(100));
    assertThat(rig.bus.take()).isEmpty();
    rig.assertAtRest();
  }

  @Test
  void theCreditOfARequestThatItsLinkDoesNotTakeIsSentWhenItDoes() {
    rig.bus.acceptOnly(sent -> sent.message() instanceof CallAccepted);
    rig.send(call.following(Buffer.buffer("some")));
    rig.bus.take();
    rig.pass(Duration.ofMillis(100));
    rig.bus.acceptOnly(any -> true);
    rig.pass(Duration.ofMillis(25));
    assertThat(rig.answer(RequestCredit.class).limit()).isPositive();
    rig.pass(Duration.ofMillis(100));
    assertThat(rig.bus.take()).isEmpty();
  }

  // --- a router that is lost ---

  @Test
  void theLeasesOfAnInstanceThatIsLostEndAndThoseOfOthersDoNot() {
    Replica wide = rig.start(3, handler);
    rig.reserve(wide, rig.attempt(), 10_000);
    RouterAddress other = new RouterAddress("n3", 0);
    rig.loop()
        .onMessage(
            new ReserveSlot(
                callId(1, 1), other, new AttemptId(98, 0, 1), wide.address(), 10_000, -1, 1));
    assertThat(wide.slots().hold(Duration.ofSeconds(10).toNanos())).isNotNull();
    assertThat(wide.slots().reserved()).isEqualTo(3);

    rig.loop().routersLost(AWAY.node());

    assertThat(wide.slots().reserved()).isEqualTo(2);
    rig.loop().routersLost("n3");
    assertThat(wide.slots().reserved()).as("our own").isOne();
  }

  @Test
  void aRouterThatIsLostIsAnsweredNoMore() {
    rig.send(call(replica).from(AWAY).attempt(rig.attempt()).ifFree());
    rig.bus.take();
    rig.loop().routersLost(AWAY.node());
    assertThat(handler.contexts.remove().cancelled()).isTrue();
    handler.answer();
    assertThat(rig.bus.take()).isEmpty();
    assertAtRest(replica.slots());
  }
}
