package dev.berth.routing;

import static dev.berth.fakes.Explained.step;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.BroadcastAnswer;
import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.FakeParent;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.view.RequestExplanation.RequestStep.RequestStepKind;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that leave a deployment whose replicas are closed, or did not run them. */
class FallbackTest {
  private static final DeploymentId OTHER = new DeploymentId("app", "other");
  private static final DeploymentId THIRD = new DeploymentId("app", "third");

  private final RoutingWorld world = new RoutingWorld();
  private final RoutingWorld.Replica own = world.local("own", 1);
  private final RoutingWorld.Replica other = world.local(OTHER, "other", 1);
  private final RoutingWorld.Replica third = world.local(THIRD, "third", 1);

  FallbackTest() {
    Stream.of(OTHER, THIRD).forEach(id -> world.routers.router(id, world.router.settings()));
    world.publish();
    fallback(world.router, OTHER);
  }

  private static void fallback(DeploymentRouter of, DeploymentId... to) {
    of.configure(new UpstreamRules(true, List.of(to), 0));
  }

  private DeploymentRouter router(DeploymentId of) {
    return Objects.requireNonNull(world.routers.find(of));
  }

  @AfterEach
  void everythingIsAtRest() {
    world.assertAllAtRest();
  }

  private Future<Response> call(String path) {
    return world.settled(world.handle().call(Request.get(path)));
  }

  private void close(RoutingWorld.Replica replica) {
    world.run(() -> replica.ledger.setMaxOngoing(0));
  }

  private void open(RoutingWorld.Replica replica) {
    world.run(() -> replica.ledger.setMaxOngoing(1));
  }

  private static List<String> paths(RoutingWorld.Replica at) {
    return at.running.stream().map(call -> call.request().path()).toList();
  }

  private static void assertServedBy(RoutingWorld.Replica replica, Future<Response> response) {
    replica.finish();
    assertThat(((Response.Body.Whole) response.result().body()).bytes())
        .hasToString(replica.info.replicaId());
  }

  @Test
  void requestToAClosedDeploymentGoesToItsFallback() {
    close(own);
    Future<Response> response = call("/");
    assertThat(world.router.counters.fallbacks.sum()).isOne();
    assertThat(router(OTHER).counters.calls.sum()).isOne();
    assertServedBy(other, response);
  }

  @Test
  void requestWaitsInTheQueueOfTheFallback() {
    close(own);
    Future<Response> first = call("/first");
    Future<Response> second = call("/second");
    assertThat(world.router.queued()).isZero();
    assertThat(router(OTHER).queued()).isOne();
    assertServedBy(other, first);
    assertServedBy(other, second);
  }

  @Test
  void closedDeploymentWithoutFallbackLetsRequestsWait() {
    fallback(world.router);
    close(own);
    Future<Response> response = call("/");
    assertThat(world.router.queued()).isOne();
    open(own);
    assertServedBy(own, response);
    call("/late");
    close(own);
    own.finish();
    Future<Response> late = call("/waits");
    world.pass(Duration.ofSeconds(61));
    assertThat(late.cause()).hasMessageContaining("queue_timeout_s");
  }

  @Test
  void waitersLeaveInOrderWhenTheLastReplicaCloses() {
    RoutingWorld.Replica more = world.published(world.local("more", 1));
    call("/a");
    call("/b");
    List.of("/1", "/2", "/3").forEach(this::call);
    close(own);
    assertThat(world.router.queued()).as("one replica is open").isEqualTo(3);
    close(more);
    assertThat(world.router.queued()).isZero();
    own.finish();
    more.finish();
    for (String path : List.of("/1", "/2", "/3")) {
      assertThat(paths(other)).containsExactly(path);
      other.finish();
    }
  }

  @Test
  void chooseStaysAndHoldsUpNoCallBehindIt() {
    close(own);
    Future<ReplicaSelection> chosen = world.settled(world.handle().choose());
    Future<Response> atArrival = call("/arrives");
    open(own);
    chosen.result().close();
    world.run();
    own.ledger.tryAcquire();
    Future<ReplicaSelection> again = world.settled(world.handle().choose());
    Future<Response> waiting = call("/waits");
    close(own);
    assertThat(world.router.queued()).as("the choose").isOne();
    assertServedBy(other, atArrival);
    assertServedBy(other, waiting);
    own.ledger.complete();
    open(own);
    again.result().close();
    world.run();
  }

  @Test
  void requestThatNoReplicaRanGoesToTheFallbackOnce() {
    Future<Response> response = call("/");
    own.notRun();
    other.notRun();
    assertThat(response.cause()).isInstanceOf(BerthException.BackPressure.class);
    assertThat(own.executions + other.executions).isEqualTo(2);
  }

  @Test
  void requestPrefersAnUntriedReplicaToTheFallback() {
    call("/");
    RoutingWorld.Replica more = world.published(world.local("more", 1));
    Future<Response> busy = call("/busy");
    own.notRun();
    assertThat(other.executions).isZero();
    assertServedBy(more, busy);
    assertThat(paths(more)).containsExactly("/");
    close(more);
    more.notRun();
    assertThat(paths(other)).containsExactly("/");
    other.finish();
  }

  @Test
  void requestLeavesWhenItsLastUntriedReplicaCloses() {
    Future<Response> response = call("/");
    RoutingWorld.Replica more = world.published(world.local("more", 1));
    Future<Response> busy = call("/busy");
    own.notRun();
    close(more);
    assertServedBy(other, response);
    assertServedBy(more, busy);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void requestWaitsWhileTheFallbackIsClosedToo(boolean otherOpens) {
    close(own);
    close(other);
    Future<Response> response = call("/");
    assertThat(world.router.queued()).isOne();
    RoutingWorld.Replica opens = otherOpens ? other : own;
    open(opens);
    world.pass(Duration.ofSeconds(1));
    assertServedBy(opens, response);
  }

  @Test
  void fallbacksOfAFallbackComeBeforeTheNext() {
    DeploymentId last = new DeploymentId("app", "last");
    RoutingWorld.Replica lastReplica = world.published(world.local(last, "last", 1));
    fallback(world.router, OTHER, last);
    fallback(router(OTHER), THIRD);
    Future<Response> response = call("/");
    own.notRun();
    other.notRun();
    third.notRun();
    assertServedBy(lastReplica, response);
    assertThat(world.router.counters.fallbacks.sum()).isOne();
    assertThat(router(THIRD).counters.fallbacks.sum()).isOne();
  }

  @Test
  void cycleOfFallbacksEnds() {
    fallback(router(OTHER), RoutingWorld.DEPLOYMENT);
    Future<Response> response = call("/");
    own.notRun();
    other.notRun();
    assertThat(response.cause()).isInstanceOf(BerthException.BackPressure.class);
    close(own);
    close(other);
    Future<Response> waits = call("/");
    open(other);
    world.pass(Duration.ofSeconds(1));
    assertServedBy(other, waits);
  }

  @Test
  void missingAndUnavailableFallbacksArePassedOver() {
    fallback(world.router, new DeploymentId("app", "missing"), OTHER, THIRD);
    world.routers.forget(OTHER);
    close(own);
    Future<Response> response = call("/");
    assertServedBy(third, response);
  }

  @Test
  void deploymentWithoutReplicasKeepsItsRequests() {
    world.withdraw(own);
    Future<Response> response = call("/");
    assertThat(world.router.queued()).isOne();
    RoutingWorld.Replica started = world.published(world.local("started", 1));
    world.run();
    assertServedBy(started, response);
  }

  @Test
  void fallbackReceivesTheIdAndTheDeadlineOfTheRequest() {
    long now = world.clock.getAsLong();
    FakeCaller caller = new FakeCaller("its-id", now, now + Duration.ofSeconds(2).toNanos());
    RoutedCall.start(world.router, world.routers.loop(0), Request.get("/"), caller, now);
    world.run();
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
  void fallbackServesARequestThatLeftTheQueueBeyondItsQueueTimeout() {
    call("/first");
    FakeCaller caller = new FakeCaller("id", world.clock.getAsLong(), Long.MAX_VALUE);
    RoutedCall.start(
        world.router, world.routers.loop(0), Request.get("/"), caller, world.clock.getAsLong());
    world.run();
    close(own);
    assertThat(paths(other)).hasSize(1);
    world.pass(Duration.ofSeconds(61));
    assertThat(world.sent(BusMessage.RecallCall.class)).isEmpty();
    other.finish();
    assertThat(caller.told).containsExactly("routed other", "response of other");
    own.finish();
  }

  @Test
  void broadcastAndSpareCallsStay() {
    close(own);
    Future<List<BroadcastAnswer>> answers =
        world.settled(world.handle().broadcast(Request.get("/all")));
    FakeCaller spare =
        new FakeCaller() {
          @Override
          public boolean isSpare() {
            return true;
          }
        };
    RoutedCall.start(world.router, world.routers.loop(0), Request.get("/"), spare, 0);
    world.run();
    assertThat(spare.failure).isInstanceOf(BerthException.BackPressure.class);
    assertThat(other.executions).isZero();
    open(own);
    own.finish();
    assertThat(answers.isComplete()).isTrue();
  }

  @Test
  void explanationNamesTheFallbackAndTheReason() {
    FakeParent parent = new FakeParent();
    parent.explainedCalls = 2;
    world.settled(world.handle().within(parent).call(Request.get("/")));
    own.notRun();
    other.finish();
    close(own);
    world.settled(world.handle().within(parent).call(Request.get("/")));
    other.finish();
    assertThat(world.explained)
        .extracting(record -> step(record, RequestStepKind.FELL_BACK).detail())
        .containsExactly("other: no replica ran it", "other: all replicas are closed");
    assertThat(world.explained)
        .allSatisfy(record -> assertThat(record.replicaId()).isEqualTo("other"));
  }
}
