package dev.berth.routing;

import static dev.berth.fakes.Explained.step;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException.BackPressure;
import dev.berth.api.BerthException.OutcomeUnknown;
import dev.berth.api.BroadcastAnswer;
import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.Explained;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.FakeParent;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.NotRunReason;
import dev.berth.view.RequestExplanation;
import dev.berth.view.RequestExplanation.RequestStep.RequestStepKind;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that leave a deployment whose replicas are closed, or did not run them. */
class FallbackTest {
  private static final DeploymentId OTHER = new DeploymentId("app", "other");
  private static final DeploymentId THIRD = new DeploymentId("app", "third");
  private static final DeploymentId LAST = new DeploymentId("app", "last");

  private final RoutingWorld world = new RoutingWorld();
  private final RoutingWorld.Replica own = world.local("own", 1);
  private final RoutingWorld.Replica other = world.local(OTHER, "other", 1);
  private final RoutingWorld.Replica third = world.local(THIRD, "third", 1);
  private final RoutingWorld.Replica last = world.published(world.local(LAST, "last", 1));

  FallbackTest() {
    world.publish(); // to the routers that the first one created
    fallback(RoutingWorld.DEPLOYMENT, OTHER);
  }

  private DeploymentRouter router(DeploymentId of) {
    return world.routers.router(of, world.router.settings());
  }

  private void fallback(DeploymentId of, DeploymentId... to) {
    router(of).configure(new ProxyRules(true, List.of(to), 0, false, -1));
  }

  @AfterEach
  void everythingIsAtRest() {
    world.assertAllAtRest();
  }

  private Future<Response> call(String path) {
    return world.settled(world.handle().call(Request.get(path)));
  }

  private FakeCaller start(FakeCaller caller) {
    long now = world.clock.getAsLong();
    RoutedCall.start(world.router, world.routers.loop(0), Request.get("/"), caller, now);
    return world.settled(caller);
  }

  private void slots(RoutingWorld.Replica replica, int slots) {
    world.run(() -> replica.ledger.setMaxOngoing(slots));
  }

  private static void assertServedBy(RoutingWorld.Replica replica, Future<Response> response) {
    replica.finish();
    Response.Body.Whole body = (Response.Body.Whole) response.result().body();
    assertThat(body.bytes()).hasToString(replica.info.replicaId());
  }

  @Test
  void requestsToAClosedDeploymentWaitAtItsFallback() {
    slots(own, 0);
    Future<Response> first = call("/first");
    Future<Response> second = call("/second");
    assertThat(world.router.queued()).isZero();
    assertThat(router(OTHER).queued()).isOne();
    assertThat(world.router.counters.fallbacks.sum()).isEqualTo(2);
    assertServedBy(other, first);
    assertServedBy(other, second);
  }

  @Test
  void closedDeploymentWithoutFallbackLetsRequestsWait() {
    fallback(RoutingWorld.DEPLOYMENT);
    slots(own, 0);
    Future<Response> response = call("/");
    slots(own, 1);
    assertServedBy(own, response);
  }

  @Test
  void waitersLeaveInOrderWhenTheLastReplicaCloses() {
    RoutingWorld.Replica more = world.published(world.local("more", 1));
    List<String> waiting = List.of("/1", "/2", "/3");
    List.of("/a", "/b").forEach(this::call);
    waiting.forEach(this::call);
    slots(own, 0);
    assertThat(world.router.queued()).as("one replica is open").isEqualTo(3);
    slots(more, 0);
    assertThat(world.router.queued()).isZero();
    own.finish();
    more.finish();
    for (String path : waiting) {
      assertThat(other.running.get(0).request().path()).isEqualTo(path);
      other.finish();
    }
  }

  @Test
  void chooseStaysAndHoldsUpNoCallBehindIt() {
    call("/runs");
    Future<ReplicaSelection> chosen = world.settled(world.handle().choose());
    Future<Response> waiting = call("/waits");
    slots(own, 0);
    assertServedBy(other, waiting);
    own.finish();
    slots(own, 1);
    chosen.result().close();
    world.run();
  }

  @Test
  void requestLeavesWhenItsLastUntriedReplicaCloses() {
    Future<Response> response = call("/");
    RoutingWorld.Replica more = world.published(world.local("more", 1));
    call("/busy");
    own.notRun();
    assertThat(world.router.queued()).as("one replica is untried").isOne();
    slots(more, 0);
    assertServedBy(other, response);
    more.finish();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void requestWaitsWhileTheFallbackIsClosedToo(boolean otherOpens) {
    slots(own, 0);
    slots(other, 0);
    Future<Response> response = call("/");
    assertThat(world.router.queued()).isOne();
    RoutingWorld.Replica opens = otherOpens ? other : own;
    slots(opens, 1);
    world.pass(Duration.ofSeconds(1));
    assertServedBy(opens, response);
  }

  @Test
  void fallbacksOfAFallbackComeBeforeTheNextAndNoneTwice() {
    fallback(RoutingWorld.DEPLOYMENT, new DeploymentId("app", "missing"), OTHER, LAST);
    fallback(OTHER, THIRD, RoutingWorld.DEPLOYMENT); // a cycle
    Future<Response> response = call("/");
    for (RoutingWorld.Replica each : List.of(own, other, third, last)) {
      assertThat(response.isComplete()).isFalse();
      each.notRun();
    }
    assertThat(response.cause()).isInstanceOf(BackPressure.class);
  }

  @Test
  void deploymentWithoutReplicasKeepsItsRequests() {
    world.withdraw(own);
    Future<Response> response = call("/");
    assertThat(world.router.queued()).isOne();
    assertServedBy(world.settled(world.published(world.local("started", 1))), response);
  }

  @Test
  void fallbackReceivesTheIdAndTheDeadlineOfTheRequest() {
    long deadline = world.clock.getAsLong() + Duration.ofSeconds(2).toNanos();
    FakeCaller caller = start(new FakeCaller("its-id", world.clock.getAsLong(), deadline));
    world.pass(Duration.ofMillis(500));
    own.notRun();
    BusMessage.CallRequest sent = other.running.get(0);
    assertThat(sent.requestId()).isEqualTo("its-id");
    assertThat(sent.deadlineMicros()).isEqualTo(1_500_000);
    assertThat(sent.waitedMicros()).isEqualTo(500_000);
    world.pass(Duration.ofMillis(1_600));
    assertThat(caller.told).containsExactly("routed own", "failure TIMEOUT");
  }

  @Test
  void queueTimeoutEndsWhenTheRequestLeavesTheQueue() {
    call("/first");
    FakeCaller caller = start(new FakeCaller());
    slots(own, 0);
    world.pass(Duration.ofSeconds(61));
    assertThat(world.sent(BusMessage.RecallCall.class)).isEmpty();
    other.finish();
    assertThat(caller.told).containsExactly("routed other", "response of other");
    own.finish();
  }

  @Test
  void broadcastAndSpareCallsStay() {
    slots(own, 0);
    Future<List<BroadcastAnswer>> answers = world.handle().broadcast(Request.get("/all"));
    FakeCaller spare =
        new FakeCaller() {
          @Override
          public boolean isSpare() {
            return true;
          }
        };
    assertThat(start(spare).failure).isInstanceOf(BackPressure.class);
    assertThat(other.executions).isZero();
    slots(own, 1);
    own.finish();
    assertThat(answers.isComplete()).isTrue();
  }

  // --- after a wait ---

  private void fallbackAfter(Duration wait) {
    router(RoutingWorld.DEPLOYMENT)
        .configure(new ProxyRules(true, List.of(OTHER, THIRD), 0, false, wait.toNanos()));
  }

  @Test
  void requestThatWaitsTooLongGoesToTheFirstOpenFallback() {
    fallbackAfter(Duration.ofMillis(200));
    call("/runs");
    slots(other, 0);
    Future<Response> response = call("/waits");
    world.pass(Duration.ofMillis(150));
    assertThat(world.router.queued()).isOne();
    world.pass(Duration.ofMillis(100));
    assertThat(world.router.queued()).isZero();
    assertServedBy(third, response);
    own.finish();
    assertThat(own.executions).as("never after its dispatch").isOne();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void longWaitGoesOnUntilAFallbackOpens(boolean otherOpens) {
    fallbackAfter(Duration.ofMillis(200));
    call("/runs");
    slots(other, 0);
    slots(third, 0);
    Future<Response> response = call("/waits");
    world.pass(Duration.ofSeconds(2));
    assertThat(world.router.queued()).isOne();
    if (otherOpens) {
      slots(other, 1);
      world.pass(Duration.ofMillis(200));
      assertServedBy(other, response);
      own.finish();
    } else {
      own.finish();
      assertServedBy(own, response);
    }
  }

  @Test
  void longWaitEndsByTheQueueTimeoutAndTheDeadline() {
    fallbackAfter(Duration.ofMillis(200));
    call("/runs");
    slots(other, 0);
    slots(third, 0);
    Future<Response> response = call("/waits");
    FakeCaller late = start(new FakeCaller("its-id", 0, world.clock.getAsLong() + 1_000_000_000L));
    world.pass(Duration.ofMillis(1_100));
    assertThat(late.told).containsExactly("failure TIMEOUT");
    world.pass(Duration.ofSeconds(60));
    assertThat(response.cause()).isInstanceOf(BackPressure.class);
    own.finish();
  }

  @Test
  void longWaitDoesNotEndAtAFullFallback() {
    fallbackAfter(Duration.ofMillis(200));
    router(OTHER).configure(RoutingProbe.withMaxQueued(router(OTHER).settings(), 0));
    fallback(THIRD);
    call("/runs");
    world.settled(world.handle(OTHER, 0).call(Request.get("/runs-there")));
    Future<Response> response = call("/waits");
    world.pass(Duration.ofSeconds(1));
    assertThat(world.router.queued()).isOne();
    other.finish();
    world.pass(Duration.ofMillis(200));
    assertServedBy(other, response);
    own.finish();
  }

  // --- requests that may run twice ---

  private void idempotent(DeploymentId... to) {
    router(RoutingWorld.DEPLOYMENT).configure(new ProxyRules(true, List.of(to), 0, true, -1));
  }

  @Test
  void idempotentRequestLeavesAReplicaThatDoesNotAnswer() {
    RoutingWorld.Replica more = world.published(world.local("more", 1));
    idempotent(OTHER);
    Future<Response> response = call("/");
    (own.running.isEmpty() ? more : own).unanswered();
    (own.running.isEmpty() ? more : own).unanswered();
    assertThat(own.executions + more.executions).isEqualTo(2);
    assertServedBy(other, response);
  }

  @Test
  void idempotenceIsThatOfTheFirstDeployment() {
    router(OTHER).configure(new ProxyRules(true, List.of(THIRD), 0, true, -1));
    Future<Response> response = call("/");
    own.notRun();
    other.unanswered();
    assertThat(response.cause()).isInstanceOf(OutcomeUnknown.class);

    idempotent(OTHER);
    router(OTHER).configure(new ProxyRules(true, List.of(THIRD), 0, false, -1));
    Future<Response> twice = call("/");
    own.notRun();
    other.unanswered();
    assertServedBy(third, twice);
  }

  @Test
  void outcomeStaysUnknownWhenNoOtherReplicaRunsTheRequest() {
    idempotent(OTHER);
    FakeCaller caller = start(new FakeCaller());
    own.unanswered();
    other.notRun();
    assertThat(caller.told).containsExactly("routed own", "failure OUTCOME_UNKNOWN");

    slots(other, 0);
    world.published(world.local("closed", 0));
    FakeCaller waits = start(new FakeCaller());
    own.unanswered();
    assertThat(world.router.queued()).isOne();
    world.pass(Duration.ofSeconds(61));
    assertThat(waits.told).containsExactly("routed own", "failure OUTCOME_UNKNOWN");
  }

  @Test
  void onlyAnIdempotentRequestRunsTwice() {
    Future<Response> response = call("/");
    own.unanswered();
    assertThat(response.cause()).isInstanceOf(OutcomeUnknown.class);
    idempotent(OTHER);
    Future<Response> streams = call("/");
    own.beginStream();
    world.run();
    own.unanswered();
    assertThat(streams.isComplete()).isTrue();
    assertThat(other.executions).isZero();
  }

  @Test
  void explanationHasEachAttemptThatDidNotRunAndTheWait() {
    idempotent(OTHER);
    FakeParent parent = new FakeParent();
    parent.explainedCalls = 2;
    world.settled(world.handle().within(parent).call(Request.get("/")));
    own.unanswered();
    other.notRun(new NotRunReason("status 429", 3));
    fallbackAfter(Duration.ofMillis(200));
    call("/runs");
    world.settled(world.handle().within(parent).call(Request.get("/")));
    world.pass(Duration.ofMillis(250));
    other.finish();
    own.finish();
    RequestExplanation first = world.explained.get(0);
    assertThat(Explained.story(first))
        .isEqualTo("ARRIVED SENT UNANSWERED FELL_BACK SENT REFUSED ENDED");
    assertThat(step(first, RequestStepKind.REFUSED).detail()).isEqualTo("NOT_RUN: status 429");
    assertThat(step(world.explained.get(1), RequestStepKind.FELL_BACK).detail())
        .matches("other: waited 2\\d\\d ms");
  }

  @Test
  void explanationNamesTheFallbackAndTheReason() {
    FakeParent parent = new FakeParent();
    parent.explainedCalls = 2;
    world.settled(world.handle().within(parent).call(Request.get("/")));
    own.notRun();
    other.finish();
    slots(own, 0);
    world.settled(world.handle().within(parent).call(Request.get("/")));
    other.finish();
    assertThat(world.explained)
        .extracting(record -> step(record, RequestStepKind.FELL_BACK).detail())
        .containsExactly("other: no replica ran it", "other: all replicas are closed");
    assertThat(step(world.explained.get(0), RequestStepKind.REFUSED).detail()).isEqualTo("NOT_RUN");
  }
}
