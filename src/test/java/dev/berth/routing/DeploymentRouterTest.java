package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Pending;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.Admission;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.routing.slots.InstanceQueueLimits;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Assigning requests: Ray Serve's AsyncioRouter and RequestRouter behaviours, on exact slots. */
class DeploymentRouterTest {
  private static final Request REQUEST = Request.post("/", Buffer.buffer("0123456789"));

  private final RoutingWorld world = new RoutingWorld();

  private Future<Response> call() {
    return world.handle().call(REQUEST);
  }

  private void maxQueued(int max) {
    world.router.configure(RoutingProbe.withMaxQueued(world.router.settings(), max));
  }

  private List<Future<Response>> calls(int count) {
    List<Future<Response>> all = new ArrayList<>();
    IntStream.range(0, count).forEach(i -> all.add(call()));
    return world.settled(all);
  }

  @Test
  void aRequestGoesToAReplicaAndItsAnswerComesBack() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    FakeCaller caller = new FakeCaller();
    world.settled(RoutedCall.start(world.router, world.routers.loop(0), REQUEST, caller, 0));
    assertThat(world.sent(BusMessage.CallRequest.class).get(0).admission())
        .isEqualTo(Admission.AcquiredSlot.HELD);
    assertThat(caller.told).containsExactly("routed r1");
    replica.finish();
    assertThat(Objects.requireNonNull(caller.response).status()).isEqualTo(200);
    assertThat(caller.told).containsExactly("routed r1", "response of r1");
    world.assertAtRest(replica);
  }

  @Test
  void aRemoteReplicaAcceptsOrRefusesItself() {
    RoutingWorld.Replica replica = world.published(world.remote("far", 1));
    Future<Response> response = world.settled(call());
    assertThat(world.sent(BusMessage.CallRequest.class).get(0).admission())
        .isEqualTo(Admission.IfFree.IF_FREE);
    replica.finish();
    assertThat(response.succeeded()).isTrue();
    world.assertAtRest(replica);
  }

  @Test
  void aRefusedRequestIsTriedElsewhereAndBothCountsAreLearned() {
    world.remote("full", 4).filled();
    RoutingWorld.Replica free = world.published(world.remote("free", 4));
    List<Future<Response>> responses = calls(4);
    assertThat(free.running).hasSize(4);
    assertThat(RoutingProbe.remoteReplicas(world.router))
        .extracting(replica -> replica.info.replicaId() + " " + replica.ongoing())
        .contains("full 4", "free 4");
    free.finishAll();
    assertThat(responses).allMatch(Future::succeeded);
    assertThat(world.router.counters.retries.sum()).isPositive();
  }

  @Test
  void withoutALimitEveryRequestWaitsAndIsServed() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    List<Future<Response>> responses = calls(100);
    assertThat(world.router.queued()).isEqualTo(99);
    replica.finishAll();
    assertThat(responses).allMatch(Future::succeeded);
    world.assertAtRest(replica);
  }

  @Test
  void beyondMaxQueuedRequestsARequestIsRefusedAtOnce() {
    maxQueued(5);
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    calls(1); // runs, and never counts as queued
    List<Future<Response>> waiting = calls(5);
    assertThat(waiting).noneMatch(Future::isComplete);
    List<Future<Response>> refused = calls(10);
    assertThat(refused)
        .allSatisfy(
            response ->
                assertThat(response.cause())
                    .isInstanceOf(BerthException.BackPressure.class)
                    .hasMessageStartingWith("Request dropped due to backpressure"));
    replica.finish();
    assertThat(calls(2)).filteredOn(Future::isComplete).hasSize(1);
  }

  @Test
  void maxQueuedRequestsChangesLiveAndThoseWhoWaitStay() {
    maxQueued(5);
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    List<Future<Response>> accepted = calls(6);
    maxQueued(6);
    accepted.addAll(calls(1));
    assertThat(calls(1).get(0).cause()).hasMessageContaining("(max_queued_requests: 6).");
    maxQueued(1);
    assertThat(calls(1).get(0).cause()).hasMessageContaining("(max_queued_requests: 1).");
    assertThat(accepted).noneMatch(Future::isComplete);
    replica.finishAll();
    assertThat(accepted).allMatch(Future::succeeded);
    world.assertAtRest(replica);
  }

  @Test
  void theInstanceBoundsRefuseWhatTheDeploymentWouldTake() {
    InstanceQueueLimits bounds = new InstanceQueueLimits(10, 25, 0);
    assertThat(bounds.tryQueue(10)).isTrue();
    assertThat(bounds.tryQueue(10)).isTrue();
    assertThat(bounds.tryQueue(10)).as("30 bytes of 25").isFalse();
    assertThat(bounds.queued()).isEqualTo(2);
    bounds.unqueue(10);
    assertThat(bounds.tryQueue(10)).isTrue();
  }

  @Test
  void aReplicaThatTakesNoMessageIsSparedAndTheRequestTriedElsewhere() {
    RoutingWorld.Replica dead = world.remote("dead", 10);
    RoutingWorld.Replica alive = world.remote("alive", 10);
    dead.unreachable = true;
    world.publish();
    List<Future<Response>> responses = calls(6);
    assertThat(alive.running).hasSize(6);
    assertThat(RoutingProbe.remoteReplicas(world.router)).as("who is gone, others say").hasSize(2);
    assertThat(world.sent(BusMessage.CallRequest.class)).as("one in vain").hasSize(7);
    alive.finishAll();
    assertThat(responses).allMatch(Future::succeeded);
  }

  @Test
  void aReplicaOfAnotherIncarnationRefusesAndIsDropped() {
    RoutingWorld.Replica gone = world.remote("gone", 10);
    RoutingWorld.Replica other = world.published(world.remote("other", 10));
    List<Future<Response>> responses = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      responses.add(call());
    }
    for (BusMessage.CallRequest request : List.copyOf(world.sent(BusMessage.CallRequest.class))) {
      if (request.target().equals(gone.info.address())) {
        gone.silent = true;
        gone.answer(
            request.source(),
            new BusMessage.CallRefused(
                request.callId(), dev.berth.protocol.Refusal.FOREIGN_EPOCH, 0));
      }
    }
    world.run();
    assertThat(other.running).hasSize(4);
    assertThat(RoutingProbe.remoteReplicas(world.router)).hasSize(1);
  }

  @Test
  void requestsAtAReplicaThatLeftAreStillCountedUntilTheyEnd() {
    RoutingWorld.Replica leaving = world.published(world.local("leaving", 2));
    List<Future<Response>> responses = calls(2);
    world.withdraw(leaving);
    assertThat(world.router.counters.running()).isEqualTo(2);
    leaving.finishAll();
    assertThat(responses).allMatch(Future::succeeded);
    world.assertAtRest(leaving);
  }

  @Test
  void aCallCancelledWhileQueuedLeavesTheQueueAndNeverRuns() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    calls(1);
    Pending<Response> queued = world.handle().start(REQUEST);
    Pending<Response> next = world.settled(world.handle().start(REQUEST));
    world.run(queued::cancel);
    assertThat(queued.future().cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(world.router.queued()).isOne();
    replica.finishAll();
    assertThat(next.future().succeeded()).isTrue();
    assertThat(replica.executions).isEqualTo(2);
    world.assertAtRest(replica);
  }

  @Test
  void aCallCancelledAfterItsGrantGivesTheSlotToTheNext() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    calls(1);
    Pending<Response> first = world.handle().start(REQUEST);
    Pending<Response> second = world.settled(world.handle().start(REQUEST));
    replica.respond(); // the slot is handed to first, whose task has not run yet
    world.run(first::cancel);
    assertThat(first.future().cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(replica.running).hasSize(1);
    replica.finish();
    assertThat(second.future().succeeded()).isTrue();
    world.assertAtRest(replica);
  }

  @Test
  void aCallCancelledWhileRunningAnswersAtOnceAndTellsTheReplica() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    FakeCaller caller = new FakeCaller();
    RoutedCall call =
        world.settled(RoutedCall.start(world.router, world.routers.loop(0), REQUEST, caller, 0));
    world.run(call::cancel);
    assertThat(caller.failure).isInstanceOf(BerthException.Cancelled.class);
    assertThat(replica.cancelled).singleElement().matches(cancel -> !cancel.timedOut());
    assertThat(caller.told).containsExactly("routed r1", "failure CANCELLED");
    world.assertAtRest(replica);
  }

  @Test
  void cancellingAFinishedCallDoesNothing() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    Pending<Response> call = world.settled(world.handle().start(REQUEST));
    replica.finish();
    world.run(call::cancel);
    assertThat(call.future().succeeded()).isTrue();
    assertThat(replica.cancelled).isEmpty();
    world.assertAtRest(replica);
  }

  @Test
  void anExceptionOfUserCodeReachesTheCallerAndFreesTheSlot() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    Future<Response> response = world.settled(call());
    replica.fail("it broke");
    assertThat(response.cause())
        .isInstanceOf(BerthException.HandlerFailed.class)
        .hasMessage("it broke");
    world.assertAtRest(replica);
  }

  @Test
  void aFailureThatComesAfterTheCancelIsDropped() {
    RoutingWorld.Replica replica = world.published(world.remote("far", 1));
    Pending<Response> call = world.settled(world.handle().start(REQUEST));
    BusMessage.CallRequest running = replica.running.get(0);
    call.cancel();
    replica.answer(
        running.source(),
        new BusMessage.CallFailed(
            running.callId(), BerthException.Kind.HANDLER_FAILED, "too late", -1, -1, 0, null));
    world.run();
    assertThat(call.future().cause()).isInstanceOf(BerthException.Cancelled.class);
    assertThat(world.routers.loop(0).lateAnswers.sum()).isOne();
    world.assertAtRest(replica);
  }

  @Test
  void aDeadlineEndsARunningCallAndTellsTheReplica() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    Future<Response> response =
        world.settled(world.handle().withTimeout(Duration.ofMillis(200)).call(REQUEST));
    world.pass(Duration.ofMillis(175));
    assertThat(response.isComplete()).isFalse();
    world.pass(Duration.ofMillis(50));
    assertThat(response.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(replica.cancelled).singleElement().matches(BusMessage.CancelCall::timedOut);
    world.assertAtRest(replica);
  }

  @Test
  void aDeadlineEndsAWaitAndItsPlaceIsFree() {
    maxQueued(1);
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    calls(1);
    Future<Response> waiting = world.handle().withTimeout(Duration.ofMillis(100)).call(REQUEST);
    world.pass(Duration.ofMillis(150));
    assertThat(waiting.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(calls(1).get(0).isComplete()).as("the place is free again").isFalse();
    assertThat(replica.executions).isOne();
  }

  @Test
  void aWaitLongerThanTheQueueTimeoutIsBackPressure() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    calls(1);
    Future<Response> waiting = call();
    world.pass(Duration.ofSeconds(59));
    assertThat(waiting.isComplete()).isFalse();
    world.pass(Duration.ofMillis(1100));
    assertThat(waiting.cause())
        .isInstanceOf(BerthException.BackPressure.class)
        .hasMessageContaining("queue_timeout_s");
    assertThat(replica.executions).isOne();
  }

  @Test
  void aRequestSentToALostPeerIsNeverSentAgain() {
    RoutingWorld.Replica replica = world.remote("far", 1);
    RoutingWorld.Replica other = world.local("near", 1);
    other.ledger.tryAcquire(); // so that the request goes far
    world.publish();
    Future<Response> response = world.settled(call());
    assertThat(replica.running).hasSize(1);
    other.ledger.complete();
    world.routers.nodeLost("there");
    world.run();
    assertThat(response.cause()).isInstanceOf(BerthException.OutcomeUnknown.class);
    assertThat(other.executions).isZero();
    assertThat(world.router.counters.running()).isZero();
  }

  @Test
  void waitingRequestsFailWhenTheDeploymentBecomesUnavailable() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    List<Future<Response>> responses = calls(3);
    world.publish(false);
    world.run();
    assertThat(responses.get(1).cause()).isInstanceOf(BerthException.DeploymentUnavailable.class);
    assertThat(responses.get(2).cause()).isInstanceOf(BerthException.DeploymentUnavailable.class);
    replica.finish();
    assertThat(responses.get(0).succeeded()).isTrue();
    world.assertAtRest(replica);
  }

  @Test
  void anOlderSnapshotNeverReplacesANewer() {
    RoutingWorld.Replica replica = world.local("r1", 1);
    world.publish(
        new RoutingSnapshot.SnapshotVersion(2, 5),
        true,
        List.of(new RoutingSnapshot.SnapshotReplica(replica.info, true)));
    world.publish(new RoutingSnapshot.SnapshotVersion(2, 4), true, List.of());
    world.publish(new RoutingSnapshot.SnapshotVersion(1, 99), true, List.of());
    assertThat(world.router.version()).isEqualTo(new RoutingSnapshot.SnapshotVersion(2, 5));
    calls(1);
    assertThat(replica.running).hasSize(1);
  }

  @Test
  void oneThatDrainsIsNoReplicaToRouteTo() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    assertThat(world.router.routable()).isNotEmpty();
    replica.ledger.drain();
    world.publish();
    assertThat(world.router.routable()).isEmpty();
  }

  @Test
  void theRateIsKnownOfOneAmongManyDeploymentsToo() {
    for (int i = 0; i < 1_000; i++) {
      world.routers.router(new DeploymentId("other", "d" + i), RoutingProbe.DEFAULTS);
    }
    serving(10);
    calls(41);
    assertThat(refusal().retryAfterSeconds().orElseThrow()).isBetween(3, 5); // 40 at ten a second
  }

  @Test
  void aQuietTimeSaysNothingOfHowFastRequestsAreServed() {
    RoutingWorld.Replica replica = serving(10);
    world.pass(Duration.ofMinutes(1));
    calls(41);
    assertThat(refusal().retryAfterSeconds().orElseThrow()).isBetween(3, 5); // 40 at ten a second
    replica.finish();
    world.pass(Duration.ofSeconds(10)); // forty wait and none ends: it is slower than it was
    calls(1);
    assertThat(refusal().retryAfterSeconds()).as("at most").hasValue(60);
  }

  /** Forty at thirty a second are a part of the second second. */
  @ParameterizedTest
  @CsvSource({"30, 2", "1000, 1"})
  void aPartOfASecondIsAWholeOneToComeBackAfter(int perSecond, int retryAfter) {
    serving(perSecond);
    calls(41);
    assertThat(refusal().retryAfterSeconds()).hasValue(retryAfter);
  }

  /** One slot that served a number of requests in each of the last seconds; room for 40 more. */
  private RoutingWorld.Replica serving(int perSecond) {
    maxQueued(40);
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    for (int second = 0; second < 10; second++) {
      for (int i = 0; i < perSecond; i++) {
        calls(1);
        replica.finish();
        world.pass(Duration.ofNanos(1_000_000_000L / perSecond));
      }
    }
    return replica;
  }

  @Test
  void aRefusalCarriesTheStatusAndTheRetryAfterOfItsDeployment() {
    maxQueued(1);
    world.published(world.local("r1", 1));
    calls(2);
    assertThat(refusal().statusCode()).hasValue(503);
    assertThat(refusal().retryAfterSeconds()).hasValue(1);
    world.router.configure(RoutingProbe.refusing(world.router.settings(), 429, 7));
    assertThat(refusal().statusCode()).hasValue(429);
    assertThat(refusal().retryAfterSeconds()).hasValue(7);
  }

  private BerthException.BackPressure refusal() {
    Future<Response> refused = world.settled(call());
    return (BerthException.BackPressure) refused.cause();
  }

  @Test
  void aFullPendingTableIsBackPressureAndTakesNoSlot() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 65_535));
    List<Future<Response>> responses = calls(LoopLimits.DEFAULTS.pendingRequests() + 1);
    assertThat(responses.get(responses.size() - 1).cause())
        .isInstanceOf(BerthException.BackPressure.class);
    assertThat(replica.ledger.ongoing()).isEqualTo(LoopLimits.DEFAULTS.pendingRequests());
  }

  @ParameterizedTest
  @ValueSource(classes = {IllegalStateException.class, NoSuchMethodError.class})
  void aRankerThatThrowsCostsSpeedAndNoRequest(Class<? extends Throwable> failure) {
    List<Throwable> told = new ArrayList<>();
    world.router.ranker.setOwn(
        (candidates, asker, random, ranking) -> {
          if (failure == NoSuchMethodError.class) {
            throw new NoSuchMethodError("ranker");
          }
          throw new IllegalStateException("ranker");
        },
        told::add);
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    Future<Response> waiting = calls(2).get(1);
    assertThat(replica.running).hasSize(1);
    assertThat(world.router.ranker.failures.sum()).isGreaterThan(1);
    assertThat(told).singleElement().isInstanceOf(failure);
    replica.finishAll();
    assertThat(waiting.succeeded()).as("the pump asks the ranker too").isTrue();
  }

  @Test
  void aUserCallbackMayCallTheHandleAgain() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    Future<Response> chained = world.settled(call().compose(first -> call()));
    replica.finishAll();
    assertThat(chained.succeeded()).isTrue();
    world.assertAtRest(replica);
  }
}
