package dev.berth.routing;

import static dev.berth.fakes.Explained.story;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.BroadcastAnswer;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.FakeParent;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.replica.slots.SlotLedger;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that a replica certainly did not run: they go to each other replica once. */
class NotRunTest {
  private final RoutingWorld world = new RoutingWorld();

  @AfterEach
  void everythingIsAtRest() {
    world.assertAllAtRest();
  }

  private Future<Response> call(String path) {
    return world.settled(world.handle().call(Request.get(path)));
  }

  private List<RoutingWorld.Replica> replicas(int count) {
    List<RoutingWorld.Replica> made =
        IntStream.range(0, count).mapToObj(i -> world.local("r" + i, 1)).toList();
    world.publish();
    return made;
  }

  private static RoutingWorld.Replica busy(List<RoutingWorld.Replica> of) {
    return of.stream().filter(each -> !each.running.isEmpty()).findFirst().orElseThrow();
  }

  private static String path(RoutingWorld.Replica at) {
    return at.running.get(0).request().path();
  }

  @Test
  void requestVisitsEachReplicaOnceAndThenFailsWithRetryAfter() {
    List<RoutingWorld.Replica> all = replicas(5);
    Future<Response> response = call("/");
    List<RoutingWorld.Replica> visited = new ArrayList<>();
    while (!response.isComplete()) {
      RoutingWorld.Replica at = busy(all);
      visited.add(at);
      at.notRun();
    }
    assertThat(visited).containsExactlyInAnyOrderElementsOf(all);
    assertThat(response.cause())
        .isInstanceOfSatisfying(
            BerthException.BackPressure.class,
            failed -> {
              assertThat(failed.retryAfterSeconds()).isEqualTo(OptionalInt.of(1));
              assertThat(failed.statusCode()).isEqualTo(OptionalInt.of(503));
            });
  }

  @Test
  void refusedRequestIsServedByAnotherReplicaWithoutTheQueue() {
    world.router.configure(RoutingProbe.withMaxQueued(world.router.settings(), 0));
    List<RoutingWorld.Replica> all = replicas(2);
    Future<Response> response = call("/");
    busy(all).notRun();
    busy(all).finish();
    assertThat(response.result().status()).isEqualTo(200);
    assertThat(world.router.counters.retries.sum()).isOne();
  }

  @Test
  void refusedRequestAwaitsTheReplicaThatItHasNotTried() {
    RoutingWorld.Replica a = world.published(world.local("a", 1));
    Future<Response> first = call("/first");
    RoutingWorld.Replica b = world.published(world.local("b", 1));
    call("/second");
    a.notRun();
    assertThat(world.router.queued()).isOne();
    assertThat(a.ledger.ongoing()).isZero();
    b.finish();
    assertThat(path(b)).isEqualTo("/first");
    b.finish();
    assertThat(first.succeeded()).isTrue();
  }

  @Test
  void waitersBehindGetSlotsOfTheReplicaThatRefused() {
    RoutingWorld.Replica a = world.published(world.local("a", 1));
    call("/first");
    RoutingWorld.Replica b = world.published(world.local("b", 1));
    call("/second");
    call("/third");
    call("/fourth");
    a.notRun(); // its slot is handed to the oldest waiter
    assertThat(path(a)).isEqualTo("/third");
    a.finish();
    assertThat(path(a)).isEqualTo("/fourth");
    call("/fifth");
    a.finish();
    assertThat(path(a)).as("the first has tried it").isEqualTo("/fifth");
    b.finish();
    assertThat(path(b)).isEqualTo("/first");
    a.finish();
    b.finish();
  }

  @Test
  void requestThatWaitedBeforeKeepsItsPlace() {
    RoutingWorld.Replica a = world.published(world.local("a", 1));
    call("/first");
    call("/waits");
    RoutingWorld.Replica b = world.local("b", 1);
    b.ledger.tryAcquire(); // by a router elsewhere
    world.publish();
    call("/later");
    a.finish();
    assertThat(path(a)).isEqualTo("/waits");
    a.notRun();
    assertThat(path(a)).isEqualTo("/later");
    call("/last");
    complete(b.ledger);
    assertThat(path(b)).isEqualTo("/waits");
    b.finish();
    b.finish();
    a.finish();
  }

  private void complete(SlotLedger ledger) {
    if (!ledger.observer().completing(ledger)) {
      ledger.complete();
    }
    world.run();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1_000, 200_000})
  void anotherReplicaReceivesTheSameBody(int bytes) {
    List<RoutingWorld.Replica> all = replicas(2);
    Buffer body = Buffer.buffer("x".repeat(bytes));
    Future<Response> response = world.settled(world.handle().call(Request.post("/", body)));
    busy(all).notRun();
    RoutingWorld.Replica second = busy(all);
    assertThat(second.running.get(0).request().bytes()).isEqualTo(body);
    assertThat(second.running.get(0).bodyFollows()).isFalse();
    second.finish();
    assertThat(response.succeeded()).isTrue();
  }

  @Test
  void acceptedRequestOfAnotherInstanceIsTriedElsewhere() {
    RoutingWorld.Replica far = world.published(world.remote("far", 1));
    Future<Response> response = call("/");
    RoutingWorld.Replica near = world.published(world.local("near", 1));
    far.notRun();
    near.finish();
    assertThat(response.succeeded()).isTrue();
  }

  @Test
  void acceptedRequestWhoseBodyFollowsIsNotRepeated() {
    RoutingWorld.Replica far = world.published(world.remote("far", 1));
    Buffer body = Buffer.buffer("x".repeat(200_000)); // beyond one message to another instance
    Future<Response> response = world.settled(world.handle().call(Request.post("/", body)));
    RoutingWorld.Replica near = world.published(world.local("near", 1));
    far.notRun();
    assertThat(near.executions).isZero();
    assertThat(response.cause()).isInstanceOf(BerthException.BackPressure.class);
  }

  @Test
  void deadlinePassesWhileTheRequestAwaitsAnUntriedReplica() {
    RoutingWorld.Replica a = world.published(world.local("a", 1));
    long now = world.clock.getAsLong();
    FakeCaller caller = new FakeCaller("id", now, now + Duration.ofSeconds(1).toNanos());
    RoutedCall call =
        world.settled(
            RoutedCall.start(world.router, world.routers.loop(0), Request.get("/"), caller, now));
    RoutingWorld.Replica b = world.published(world.local("b", 1).filled());
    a.notRun();
    world.pass(Duration.ofMillis(1_100));
    assertThat(caller.failure).isInstanceOf(BerthException.Timeout.class);
    assertThat(call.sent()).as("no replica may have run it").isFalse();
    b.ledger.complete();
  }

  @Test
  void dispatchToAChosenReplicaFailsAsNotRun() {
    RoutingWorld.Replica a = world.published(world.local("a", 1));
    ReplicaSelection selection = world.chosen(world.handle());
    world.published(world.local("b", 1));
    Future<Response> response = world.settled(selection.dispatch(Request.get("/")));
    a.notRun();
    assertThat(response.cause()).isInstanceOf(BerthException.BackPressure.class);
  }

  @Test
  void broadcastIsNotRepeatedElsewhere() {
    List<RoutingWorld.Replica> all = replicas(2);
    Future<List<BroadcastAnswer>> answers =
        world.settled(world.handle().broadcast(Request.get("/all")));
    all.get(0).notRun();
    assertThat(all.get(1).running).hasSize(1);
    all.get(1).finish();
    assertThat(answers.result()).hasSize(2);
  }

  @Test
  void cancelEndsARequestThatAwaitsAnUntriedReplica() {
    RoutingWorld.Replica a = world.published(world.local("a", 1));
    Pending<Response> pending = world.settled(world.handle().start(Request.get("/")));
    RoutingWorld.Replica b = world.published(world.local("b", 1));
    call("/second");
    a.notRun();
    pending.cancel();
    world.run();
    assertThat(pending.future().cause()).isInstanceOf(BerthException.Cancelled.class);
    b.finish();
  }

  @Test
  void removalOfTheLastUntriedReplicaEndsTheWait() {
    RoutingWorld.Replica a = world.published(world.local("a", 1));
    Future<Response> response = call("/");
    RoutingWorld.Replica b = world.local("b", 1);
    world.published(b);
    call("/second");
    a.notRun();
    assertThat(response.isComplete()).isFalse();
    world.remove(b);
    world.publish();
    world.run();
    assertThat(response.cause()).isInstanceOf(BerthException.BackPressure.class);
    b.finish();
  }

  @Test
  void timeWaitedBeforeARetryIsReportedToTheNextReplica() {
    List<RoutingWorld.Replica> all = replicas(2);
    call("/");
    world.clock.advanceNanos(Duration.ofMillis(40).toNanos());
    busy(all).notRun();
    assertThat(world.sent(BusMessage.CallRequest.class).get(1).waitedMicros()).isEqualTo(40_000);
    busy(all).finish();
  }

  @Test
  void explanationNamesEachRefusal() {
    FakeParent parent = new FakeParent();
    parent.explainedCalls = 1;
    List<RoutingWorld.Replica> all = replicas(2);
    world.settled(world.handle().within(parent).call(Request.get("/")));
    busy(all).notRun();
    busy(all).finish();
    assertThat(world.explained)
        .singleElement()
        .satisfies(
            record ->
                assertThat(story(record))
                    .isEqualTo(
                        "ARRIVED SENT REFUSED SENT HANDLER_STARTED HANDLER_SETTLED ANSWERED ENDED"));
  }
}
