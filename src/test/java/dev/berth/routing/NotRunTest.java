package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException.BackPressure;
import dev.berth.api.BerthException.Timeout;
import dev.berth.api.BroadcastAnswer;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.NotRunReason;
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
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that a replica certainly did not run: they go to each other replica once. */
class NotRunTest {
  private final RoutingWorld world = new RoutingWorld();

  @AfterEach
  void everythingIsAtRest() {
    world.assertAllAtRest();
  }

  private Future<Response> call(String path) {
    return call(Request.get(path));
  }

  private Future<Response> call(Request request) {
    return world.settled(world.handle().call(request));
  }

  private RoutingWorld.Replica local(String name) {
    return world.published(world.local(name, 1));
  }

  private List<RoutingWorld.Replica> replicas(int count) {
    return IntStream.range(0, count).mapToObj(i -> local("r" + i)).toList();
  }

  private static RoutingWorld.Replica busy(List<RoutingWorld.Replica> of) {
    return of.stream().filter(each -> !each.running.isEmpty()).findFirst().orElseThrow();
  }

  private static void assertRuns(RoutingWorld.Replica at, String path) {
    assertThat(at.running).extracting(call -> call.request().path()).containsExactly(path);
  }

  @Test
  void requestVisitsEachReplicaOnceAndThenFailsWithRetryAfter() {
    List<RoutingWorld.Replica> all = replicas(5);
    Future<Response> response = call("/");
    List<RoutingWorld.Replica> visited = new ArrayList<>();
    while (!response.isComplete()) {
      visited.add(busy(all));
      busy(all).notRun();
    }
    assertThat(visited).containsExactlyInAnyOrderElementsOf(all);
    BackPressure failure = (BackPressure) response.cause();
    assertThat(failure.retryAfterSeconds()).isEqualTo(OptionalInt.of(1));
    assertThat(failure.statusCode()).isEqualTo(OptionalInt.of(503));
  }

  @ParameterizedTest
  @CsvSource({"7, 5, 5", "5, 7, 5", "7, -1, 1", "-1, 7, 1"})
  void refusalCarriesTheRetryAfterThatEachUpstreamStated(int first, int second, int seconds) {
    List<RoutingWorld.Replica> all = replicas(2);
    Future<Response> response = call("/");
    busy(all).notRun(new NotRunReason("status 429", first));
    busy(all).notRun(new NotRunReason("status 429", second));
    BackPressure failure = (BackPressure) response.cause();
    assertThat(failure.retryAfterSeconds()).isEqualTo(OptionalInt.of(seconds));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1_000, 200_000})
  void anotherReplicaReceivesTheSameBodyWithoutTheQueue(int bytes) {
    world.router.configure(RoutingProbe.withMaxQueued(world.router.settings(), 0));
    List<RoutingWorld.Replica> all = replicas(2);
    Buffer body = Buffer.buffer("x".repeat(bytes));
    Future<Response> response = call(Request.post("/", body));
    busy(all).notRun();
    assertThat(busy(all).running.get(0).request().bytes()).isEqualTo(body);
    busy(all).finish();
    assertThat(response.result().status()).isEqualTo(200);
  }

  @Test
  void waitersBehindGetSlotsOfTheReplicaThatRefused() {
    RoutingWorld.Replica a = local("a");
    call("/first");
    RoutingWorld.Replica b = local("b");
    List.of("/second", "/third", "/fourth").forEach(this::call);
    a.notRun(); // its slot is handed to the oldest waiter
    assertRuns(a, "/third");
    a.finish();
    call("/fifth");
    a.finish();
    assertRuns(a, "/fifth"); // the first has tried it
    b.finish();
    assertRuns(b, "/first");
    a.finish();
    b.finish();
  }

  @Test
  void requestThatWaitedBeforeKeepsItsPlace() {
    RoutingWorld.Replica a = local("a");
    List.of("/first", "/waits").forEach(this::call);
    RoutingWorld.Replica b = world.published(world.local("b", 1).filled());
    call("/later");
    a.finish();
    a.notRun();
    assertRuns(a, "/later");
    call("/last");
    b.ledger.observer().completing(b.ledger, 1);
    world.run();
    assertRuns(b, "/waits");
    a.finish();
    a.finish();
    b.finish();
  }

  @ParameterizedTest
  @ValueSource(ints = {10, 200_000})
  void acceptedRequestIsRepeatedUnlessItsBodyFollows(int bytes) {
    RoutingWorld.Replica far = world.published(world.remote("far", 1));
    Future<Response> response = call(Request.post("/", Buffer.buffer("x".repeat(bytes))));
    RoutingWorld.Replica near = local("near");
    far.notRun();
    assertThat(near.executions).isEqualTo(bytes == 10 ? 1 : 0);
    near.finishAll();
    assertThat(response.succeeded()).isEqualTo(bytes == 10);
  }

  @Test
  void deadlinePassesWhileTheRequestAwaitsAnUntriedReplica() {
    RoutingWorld.Replica a = local("a");
    long now = world.clock.getAsLong();
    FakeCaller caller = new FakeCaller("id", now, now + Duration.ofSeconds(1).toNanos());
    RouterLoop loop = world.routers.loop(0);
    RoutedCall call = RoutedCall.start(world.router, loop, Request.get("/"), caller, now);
    world.run();
    RoutingWorld.Replica b = world.published(world.local("b", 1).filled());
    a.notRun();
    world.pass(Duration.ofMillis(1_100));
    assertThat(caller.failure).isInstanceOf(Timeout.class);
    assertThat(call.sent()).as("no replica may have run it").isFalse();
    b.ledger.complete();
  }

  @Test
  void dispatchAndBroadcastAreNotRepeated() {
    RoutingWorld.Replica a = local("a");
    ReplicaSelection selection = world.chosen(world.handle());
    RoutingWorld.Replica b = local("b");
    Future<Response> response = world.settled(selection.dispatch(Request.get("/")));
    a.notRun();
    assertThat(response.cause()).isInstanceOf(BackPressure.class);
    Future<List<BroadcastAnswer>> all = world.handle().broadcast(Request.get("/all"));
    world.run();
    a.notRun();
    b.finish();
    assertThat(all.result()).hasSize(2);
  }

  @Test
  void removalOfTheLastUntriedReplicaEndsTheWait() {
    RoutingWorld.Replica a = local("a");
    Future<Response> response = call("/");
    RoutingWorld.Replica b = local("b");
    call("/second");
    a.notRun();
    assertThat(response.isComplete()).isFalse();
    world.withdraw(b);
    world.run();
    assertThat(response.cause()).isInstanceOf(BackPressure.class);
    b.finish();
  }
}
