package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.CallRequest;
import dev.berth.protocol.BusMessage.CancelCall;
import dev.berth.protocol.BusMessage.RecallCall;
import dev.berth.protocol.BusMessage.ReleaseSlot;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.protocol.BusMessage.StreamCredit;
import dev.berth.protocol.Refusal;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a router does of what nothing is heard of: it may be lost, and it may have run. */
class RecallTest {
  private static final Request REQUEST = Request.get("/");
  private static final Duration SECOND = Duration.ofMillis(1_050); // and what a tick is late

  private final RoutingWorld world = new RoutingWorld();
  private final RoutingWorld.Replica far = world.published(world.remote("far", 1));

  private Future<Response> call() {
    return world.settled(world.handle().call(REQUEST));
  }

  private RoutingWorld.Replica near() {
    return world.published(world.local("near", 1));
  }

  private void lostToFar(Runnable asked) {
    far.silent = true;
    world.run(asked);
    far.silent = false;
  }

  // --- what was sent has not come ---

  @Test
  void aReserveThatIsNotAnsweredIsReleasedAndTriedElsewhere() {
    far.answersLost = true;
    Future<ReplicaSelection> chosen = world.settled(world.handle().choose());
    near();
    world.pass(Duration.ofMillis(900));
    assertThat(chosen.isComplete()).isFalse();

    world.pass(Duration.ofMillis(150));

    assertThat(chosen.result().replicaId()).isEqualTo("near");
    assertThat(world.sent(ReleaseSlot.class))
        .singleElement()
        .matches(it -> it.attempt().equals(world.sent(ReserveSlot.class).get(0).attempt()));
    assertThat(far.ledger.reserved()).as("the slot that nobody knew of").isZero();
    world.settled(chosen.result().close());
    world.repeated = far.answersLost ? 1 : 0; // its release
    world.assertAllAtRest();
  }

  @Test
  void aCallThatHasNotComeIsRecalledAndTriedElsewhere() {
    List<Future<Response>> response = new ArrayList<>();
    lostToFar(() -> response.add(world.handle().call(REQUEST)));
    CallRequest lost = world.sent(CallRequest.class).get(0);
    RoutingWorld.Replica near = near();

    world.pass(SECOND);

    assertThat(world.sent(RecallCall.class))
        .containsExactly(
            new RecallCall(lost.callId(), lost.source(), lost.attempt(), lost.target()));
    near.finish();
    assertThat(response.get(0).succeeded()).isTrue();
    assertThat(far.ledger.tryAcquire(lost.attempt()))
        .as("if it came now")
        .isEqualTo(Refusal.REVOKED);
    world.assertAllAtRest();
  }

  @Test
  void aRecallIsRepeatedUntilItIsAnswered() {
    far.silent = true;
    Future<Response> response = call();
    world.pass(Duration.ofMillis(3_200));
    assertThat(world.sent(RecallCall.class)).hasSize(3);
    assertThat(world.routers.loop(0).recalls.sum()).isEqualTo(3);
    assertThat(response.isComplete()).as("it may run there").isFalse();
    far.silent = false;

    world.pass(SECOND);

    assertThat(far.executions).as("in its second sending").isOne();
    far.finish();
    assertThat(response.succeeded()).isTrue();
    world.assertAllAtRest();
  }

  @Test
  void nobodyElseGoesWhereNothingIsHeardUntilThereIsAReport() {
    RoutingWorld.Replica other = world.published(world.remote("other", 9));
    far.silent = true;
    other.silent = true;
    world.handle().call(REQUEST);
    call();
    world.pass(SECOND);
    assertThat(world.sent(RecallCall.class)).hasSize(2);
    other.silent = false;
    world.pass(SECOND); // it answers its recall
    int before = toFar();
    for (int i = 0; i < 5; i++) {
      call();
    }
    assertThat(toFar()).isEqualTo(before);
  }

  private int toFar() {
    return (int)
        world.sent(CallRequest.class).stream()
            .filter(call -> call.target().equals(far.info.address()))
            .count();
  }

  @Test
  void aDispatchThatHasNotComeFailsAndItsLeaseEnds() {
    ReplicaSelection selection = world.chosen(world.handle());
    List<Future<Response>> response = new ArrayList<>();
    lostToFar(() -> response.add(selection.dispatch(REQUEST)));
    world.pass(SECOND);
    assertThat(response.get(0).cause())
        .isInstanceOf(BerthException.ReplicaUnavailable.class)
        .hasMessageContaining("RECALLED");
    assertThat(far.executions).isZero();
    world.assertAllAtRest();
  }

  // --- it runs ---

  @Test
  void aCallThatRunsGoesOnAndIsAskedAfterMoreRarely() {
    far.answersLost = true; // so its CallAccepted is
    Future<Response> response = call();
    far.answersLost = false;
    near();
    world.pass(SECOND);
    assertThat(world.sent(RecallCall.class)).hasSize(1);
    world.pass(Duration.ofSeconds(9));
    assertThat(world.sent(RecallCall.class)).hasSize(1);
    world.pass(SECOND);
    assertThat(world.sent(RecallCall.class)).hasSize(2);
    assertThat(world.sent(CancelCall.class)).isEmpty();
    assertThat(response.isComplete()).isFalse();

    far.finish();

    assertThat(response.succeeded()).isTrue();
    assertThat(world.sent(CallRequest.class)).hasSize(1);
    world.assertAllAtRest();
  }

  @Test
  void aDispatchThatRunsForLongGoesOn() {
    Future<Response> response =
        world.settled(world.chosen(world.handle()).dispatch(REQUEST)); // no word that it runs
    world.pass(Duration.ofSeconds(5));
    assertThat(world.sent(RecallCall.class)).hasSize(1);
    far.finish();
    assertThat(response.succeeded()).isTrue();
    world.assertAllAtRest();
  }

  @Test
  void aRecallThatCrossesTheAnswerThatItRunsDoesNoHarm() {
    far.answersLost = true;
    Future<Response> response = call();
    far.answersLost = false;
    CallRequest sent = world.sent(CallRequest.class).get(0);
    far.answer(sent.source(), new BusMessage.CallAccepted(sent.callId(), far.ledger.load()));
    world.pass(SECOND);
    far.answer(sent.source(), new BusMessage.CallAccepted(sent.callId(), far.ledger.load()));
    far.finish();
    assertThat(response.succeeded()).isTrue();
    far.answer(sent.source(), new BusMessage.CallAccepted(sent.callId(), far.ledger.load()));
    world.run();
    world.assertAllAtRest();
  }

  @Test
  void aStreamThatHasBegunIsAskedAfterRarely() {
    Future<Response> response = call();
    CallRequest begun = far.beginStream();
    world.pass(Duration.ofSeconds(30));
    assertThat(response.succeeded()).isTrue();
    assertThat(world.sent(RecallCall.class)).hasSizeBetween(1, 4);
    far.endStream(begun);
    world.run();
    assertThat(world.routers.loop(0).deadlines()).isZero();
  }

  /**
   * Router seeds 293200053 and 293200713: nothing comes after a last frame that would show a gap.
   */
  @Test
  void aStreamWhoseLastFrameIsLostEndsWithAnUnknownOutcome() {
    Future<Response> response = call();
    CallRequest begun = far.beginStream();
    world.run();
    List<Throwable> ends = new ArrayList<>();
    ((Response.Body.Received) response.result().body())
        .stream().exceptionHandler(ends::add).resume();
    world.pass(Duration.ofSeconds(30));
    assertThat(ends).isEmpty();
    assertThat(world.sent(RecallCall.class)).isNotEmpty();
    far.answer(
        begun.source(),
        new BusMessage.CallFailed(
            begun.callId(),
            BerthException.Kind.OUTCOME_UNKNOWN,
            "its answer was lost",
            -1,
            -1,
            far.ledger.load(),
            null));
    world.run();
    assertThat(ends).hasSize(1).first().isInstanceOf(BerthException.OutcomeUnknown.class);
    assertThat(world.routers.loop(0).deadlines()).isZero();
  }

  @Test
  void theCreditOfAStreamThatItsLinkDoesNotTakeIsSentWhenItDoes() {
    Future<Response> response = call();
    CallRequest begun = far.beginStream();
    world.run();
    ((Response.Body.Received) response.result().body()).stream().handler(piece -> {}).resume();
    far.unreachable = true;
    far.answer(
        begun.source(),
        new BusMessage.StreamFrame(
            begun.callId(), 0, Buffer.buffer(new byte[12_000]), false, far.ledger.load()));
    world.pass(Duration.ofMillis(100));
    far.unreachable = false;
    int tried = world.sent(StreamCredit.class).size();

    world.pass(Duration.ofMillis(100));

    assertThat(tried).isGreaterThan(1);
    assertThat(world.sent(StreamCredit.class)).hasSize(tried + 1);
    far.answer(
        begun.source(),
        new BusMessage.StreamReset(
            begun.callId(), BerthException.Kind.TIMEOUT, "over", far.ledger.load()));
    world.run();
    assertThat(world.routers.loop(0).deadlines()).isZero();
  }

  @Test
  void aCallWithinTheInstanceIsNeitherRecalledNorLookedAt() {
    RoutingWorld world = new RoutingWorld();
    RoutingWorld.Replica near = world.published(world.local("near", 1));
    Future<Response> response = world.settled(world.handle().call(REQUEST));
    assertThat(world.routers.loop(0).deadlines()).isZero();
    world.pass(Duration.ofSeconds(5));
    assertThat(world.sent(RecallCall.class)).isEmpty();
    near.finish();
    assertThat(response.succeeded()).isTrue();
  }

  // --- it is not known ---

  @Test
  void aCallWhoseAnswerWasLostEndsInAnUnknownOutcome() {
    far.answersLost = true;
    Future<Response> response = call();
    far.finish();
    far.answersLost = false;
    RoutingWorld.Replica near = near();
    world.pass(SECOND);
    assertThat(response.cause()).isInstanceOf(BerthException.OutcomeUnknown.class);
    assertThat(near.executions).isZero();
    world.assertAllAtRest();
  }

  @Test
  void anAnswerThatComesAfterItsOutcomeWasUnknownIsDropped() {
    far.answersLost = true;
    Future<Response> response = call();
    CallRequest ran = far.running.get(0);
    far.finish();
    far.answersLost = false;
    world.pass(SECOND);
    far.answer(ran.source(), RoutingWorld.answer(ran.callId()));
    world.run();
    assertThat(response.cause()).isInstanceOf(BerthException.OutcomeUnknown.class);
    assertThat(world.routers.loop(0).lateAnswers.sum()).isOne();
  }

  /** The replica has forgotten it: that it never came is not true. */
  @Test
  void aCallThatIsKnownToRunIsNotTriedElsewhereWhateverItsReplicaSays() {
    Future<Response> response = call();
    CallRequest runs = far.running.get(0);
    RoutingWorld.Replica near = near();
    far.answer(
        runs.source(),
        new BusMessage.CallRefused(runs.callId(), Refusal.RECALLED, far.ledger.load()));
    world.run();
    assertThat(response.cause()).isInstanceOf(BerthException.OutcomeUnknown.class);
    assertThat(near.executions).isZero();
  }

  // --- cancels ---

  private Pending<Response> begun() {
    return world.settled(world.handle().start(REQUEST));
  }

  @Test
  void aCancelIsRepeatedUntilItIsAnsweredAndItsCallerDoesNotWait() {
    Pending<Response> call = begun();
    lostToFar(call::cancel);
    assertThat(call.future().cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(world.router.counters.running()).isZero();
    assertThat(far.ledger.ongoing()).as("its cancel was lost").isOne();
    assertThat(world.routers.loop(0).cancelsRepeated()).isOne();

    world.pass(SECOND);

    assertThat(far.cancelled).hasSize(1);
    assertThat(world.sent(CancelCall.class)).hasSize(2).allMatch(world.sent.get(1)::equals);
    world.pass(Duration.ofSeconds(5));
    assertThat(world.sent(CancelCall.class)).hasSize(2);
    world.assertAllAtRest();
  }

  @Test
  void aCancelThatMeetsTheAnswerIsNotRepeated() {
    Pending<Response> call = begun();
    lostToFar(call::cancel);
    far.finish();
    world.pass(Duration.ofSeconds(3));
    assertThat(world.sent(CancelCall.class)).hasSize(1);
    world.assertAllAtRest();
  }

  /** The replica knows the deadline as well. */
  @Test
  void aCallWhoseTimeIsOverIsCancelledOnce() {
    far.silent = true;
    Future<Response> late =
        world.settled(world.handle().withTimeout(Duration.ofMillis(100)).call(REQUEST));
    world.pass(Duration.ofSeconds(3));
    assertThat(late.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(world.sent(CancelCall.class)).singleElement().matches(CancelCall::timedOut);
    assertThat(world.routers.loop(0).pendingRequests()).isZero();
  }

  @Test
  void cancelsBeyondTheBoundAreSentOnceAndCounted() {
    int most = LoopLimits.DEFAULTS.cancelledCalls();
    RoutingWorld.Replica wide = world.published(world.remote("wide", most + 20));
    wide.silent = true;
    far.silent = true;
    List<Pending<Response>> calls = new ArrayList<>();
    for (int i = 0; i < most + 10; i++) {
      calls.add(world.handle().start(REQUEST));
    }
    world.run(() -> calls.forEach(Pending::cancel));
    assertThat(world.routers.loop(0).cancelsRepeated()).isEqualTo(most);
    assertThat(world.routers.loop(0).cancelsNotRepeated()).isEqualTo(10);
    assertThat(world.routers.loop(0).pendingRequests()).isEqualTo(most);

    world.run(() -> world.routers.nodeLost("there"));

    assertThat(world.routers.loop(0).cancelsRepeated()).isZero();
    assertThat(world.routers.loop(0).pendingRequests()).isZero();
    assertThat(world.routers.loop(0).deadlines()).isZero();
  }

  // --- links and nodes ---

  @Test
  void whatWasSentOverALinkThatBrokeEndsInAnUnknownOutcomeAndRunsForNobody() {
    Future<Response> response = call();
    lostToFar(() -> world.routers.linkBroken("there", 0));
    assertThat(response.cause()).isInstanceOf(BerthException.OutcomeUnknown.class);
    assertThat(RoutingProbe.remoteReplicas(world.router)).as("it may live").hasSize(1);
    assertThat(far.ledger.ongoing()).isOne();
    world.pass(SECOND);
    assertThat(far.cancelled).as("once it can be told").hasSize(1);
    world.assertAllAtRest();
  }

  @Test
  void aReserveOverALinkThatBrokeIsReleasedAndTriedElsewhere() {
    far.answersLost = true;
    Future<ReplicaSelection> chosen = world.settled(world.handle().choose());
    near();
    world.run(() -> world.routers.linkBroken("there", 0));
    assertThat(chosen.result().replicaId()).isEqualTo("near");
    assertThat(far.ledger.reserved()).isZero();
  }

  @Test
  void aLeaseOutlivesALinkAndNotItsNode() {
    for (boolean lives : new boolean[] {true, false}) {
      RoutingWorld world = new RoutingWorld();
      RoutingWorld.Replica far = world.published(world.remote("far", 1));
      ReplicaSelection selection = world.chosen(world.handle());
      world.run(
          () -> {
            if (lives) {
              world.routers.linkBroken("there", 0);
            } else {
              world.routers.nodeLost("there");
            }
          });
      Future<Response> response = world.settled(selection.dispatch(REQUEST));
      if (lives) {
        far.finish();
        assertThat(response.succeeded()).isTrue();
      } else {
        assertThat(response.cause()).isInstanceOf(BerthException.ReplicaUnavailable.class);
        assertThat(RoutingProbe.remoteReplicas(world.router)).isEmpty();
      }
      world.assertAllAtRest();
    }
  }

  @Test
  void aSuspectedNodeGetsNothingNewWhileThereAreOthers() {
    RoutingWorld.Replica near = near();
    near.filled();
    world.routers.suspected("there", true);
    call();
    assertThat(far.executions).as("it has a free slot").isZero();
    world.withdraw(near);
    world.run();
    assertThat(far.executions).as("there is no other").isOne();
  }

  @Test
  void aSuspectedNodeIsAsGoodAsBeforeOnceItIsHealed() {
    near().filled();
    world.routers.suspected("there", true);
    Future<Response> response = call();
    world.run(() -> world.routers.suspected("there", false));
    far.finish();
    assertThat(response.succeeded()).isTrue();
  }
}
