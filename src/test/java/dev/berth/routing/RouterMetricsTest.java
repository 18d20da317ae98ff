package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.RoutingWorld;
import dev.berth.metrics.Meters;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.RouterAddress;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a router measures, as Ray Serve's {@code test_decoupled_routing_metrics} wants it. */
class RouterMetricsTest {
  private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";
  private static final Request REQUEST = Request.get("/");

  private final RoutingWorld world = new RoutingWorld();
  private final RoutingWorld.Replica near = world.local("near", 1);
  private final Meters meters = new Meters("n", "a", "", false);

  @BeforeEach
  void publish() {
    world.publish();
    meters.add(into -> into.histogram("gap_ms", world.router.dispatchGaps));
    meters.add(into -> into.histogram("wait_ms", world.router.fulfillmentTimes));
  }

  private List<String> lines() {
    return meters.scrape(TEXT).lines().toList();
  }

  private ReplicaSelection choose() {
    return world.chosen(world.handle());
  }

  private void dispatch(ReplicaSelection selection) {
    world.settled(selection.dispatch(REQUEST));
    near.finish();
  }

  @Test
  void theGapIsMeasuredWhenASelectionIsDispatched() {
    dispatch(choose());
    assertThat(lines()).contains("gap_ms_count 1", "gap_ms_sum 0.0");
  }

  @Test
  void withoutADispatchThereIsNoGap() {
    world.settled(choose().close());
    choose(); // and one that runs out
    world.pass(Duration.ofSeconds(11));
    world.settled(world.handle().call(REQUEST));
    assertThat(lines()).noneMatch(line -> line.startsWith("gap_ms"));
  }

  @Test
  void theGapIsTheTimeBetweenSelectionAndDispatch() {
    ReplicaSelection selection = choose();
    world.pass(Duration.ofMillis(150));
    dispatch(selection);
    assertThat(lines())
        .contains(
            "gap_ms_sum 150.0", "gap_ms_bucket{le=\"100.0\"} 0", "gap_ms_bucket{le=\"200.0\"} 1");
    dispatch(choose());
    assertThat(lines()).contains("gap_ms_sum 150.0", "gap_ms_count 2");
  }

  @Test
  void aSelectionsTimeBeginsWhenItIsMadeAndNotWhenItWasAskedFor() {
    world.handle().call(REQUEST); // has the only slot
    Future<ReplicaSelection> chosen = world.handle().choose();
    world.pass(Duration.ofMillis(300));
    near.finish();
    world.pass(Duration.ofMillis(50));
    dispatch(chosen.result());
    assertThat(lines()).contains("gap_ms_sum 50.0", "wait_ms_sum 300.0", "wait_ms_count 2");
  }

  @Test
  void aDispatchThatFailsHasItsGapAllTheSame() {
    ReplicaSelection selection = choose();
    near.unreachable = true;
    world.settled(selection.dispatch(REQUEST));
    assertThat(lines()).contains("gap_ms_count 1");
    assertThat(world.router.counters.undispatched.sum()).isZero();
  }

  @Test
  void eachWhoWaitedCountsItsOwnWaitOnce() {
    for (int i = 0; i < 3; i++) {
      world.handle().call(REQUEST);
    }
    for (int i = 0; i < 3; i++) {
      world.pass(Duration.ofMillis(40));
      near.finish();
    }
    assertThat(lines()).contains("wait_ms_count 3", "wait_ms_sum 120.0");
  }

  @Test
  void aRequestThatNeverGotAReplicaHasNoWait() {
    world.handle().call(REQUEST);
    var waiting = world.handle().start(REQUEST);
    world.pass(Duration.ofMillis(40));
    world.run(waiting::cancel);
    assertThat(lines()).contains("wait_ms_count 1");
  }

  @Test
  void aReplicaElsewhereIsReachedWhenItAccepts() {
    world.remove(near);
    RoutingWorld.Replica far = world.published(world.remote("far", 1));
    world.handle().call(REQUEST);
    world.clock.advanceNanos(Duration.ofMillis(30).toNanos());
    world.run();
    assertThat(far.running).hasSize(1);
    assertThat(lines()).contains("wait_ms_count 1", "wait_ms_sum 30.0");
  }

  @Test
  void aHandleCountsCallsAndDispatchesARouterCallsAndChoices() {
    world.settled(world.handle().call(REQUEST));
    near.finish();
    dispatch(choose());
    world.settled(choose().close());
    assertThat(world.router.counters.handleRequests()).isEqualTo(2);
    assertThat(world.router.counters.requests()).isEqualTo(3);
  }

  @Test
  void theQueueOfEachReplicaIsSeen() {
    world.published(world.remote("far", 4));
    world.settled(world.handle().call(REQUEST));
    StringBuilder seen = new StringBuilder();
    world.router.forEachReplica(
        (id, ongoing) -> seen.append(id).append(' ').append(ongoing).append(' '));
    assertThat(seen.toString()).isIn("near 1 far 0 ", "near 0 far 1 ");
  }

  /** A request is at no moment counted twice: it waits, then holds a slot. */
  @Test
  void aChoiceLeavesTheQueuesGaugeBeforeTheReservedGaugeRises() {
    OneReplicaWorld one = new OneReplicaWorld(1);
    one.call(0);
    List<String> gauges = new ArrayList<>();
    one.whenTheClockIsRead =
        () -> noteChange(gauges, one.router.queued(), one.router.counters.reserved());
    RoutingProbe.choose(
        one.router,
        one.loop(0),
        Duration.ofSeconds(10).toNanos(),
        selection -> noteChange(gauges, one.router.queued(), one.router.counters.reserved()),
        RoutingProbe::unexpected);
    one.completeSlot();
    one.respondFirst();
    one.runTasks();
    assertThat(gauges)
        .containsExactly("1 waiting, 0 reserved", "0 waiting, 0 reserved", "0 waiting, 1 reserved");
  }

  /** As above, where the slot has to be asked for. */
  @Test
  void aChoiceAskedForElsewhereWaitsUntilItHasItsSlotAndIsReservedThen() {
    RoutingWorld.Replica far = world.remote("far", 1);
    world.withdraw(near);
    far.ledger.tryAcquire(); // full, and this router does not know
    List<String> gauges = new ArrayList<>();
    Runnable look =
        () -> noteChange(gauges, world.router.queued(), world.router.counters.reserved());
    far.whenSent = message -> look.run();
    Future<ReplicaSelection> chosen =
        world.settled(world.handle().choose().onSuccess(selection -> look.run()));
    look.run();
    far.ledger.complete();
    world.pass(Duration.ofSeconds(1));
    assertThat(chosen.succeeded()).isTrue();
    assertThat(gauges)
        .containsExactly(
            "0 waiting, 0 reserved",
            "1 waiting, 0 reserved",
            "0 waiting, 0 reserved",
            "0 waiting, 1 reserved");
  }

  private static void noteChange(List<String> gauges, int queued, int reserved) {
    String now = queued + " waiting, " + reserved + " reserved";
    if (gauges.isEmpty() || !gauges.get(gauges.size() - 1).equals(now)) {
      gauges.add(now);
    }
  }

  @Test
  void nothingIsKeptOfReplicasThatLeft() {
    for (int i = 0; i < 20; i++) {
      RoutingWorld.Replica here = world.local("here " + i, 1);
      RoutingWorld.Replica far = world.remote("far " + i, 1);
      world.withdraw(near);
      Future<Response> first = world.handle().call(REQUEST);
      Future<Response> second = world.settled(world.handle().call(REQUEST));
      world.remove(here);
      world.withdraw(far);
      assertThat(replicas()).as("left, and still at work").isEmpty();
      assertThat(world.router.counters.running()).isEqualTo(2);
      here.respond();
      far.finish();
      assertThat(first.succeeded() && second.succeeded()).isTrue();
      // What it said last comes after it left.
      far.answer(
          new RouterAddress(RoutingWorld.NODE, 0),
          new BusMessage.ReplicaLoad(far.info.address(), far.ledger.load()));
      world.run();
    }
    assertThat(replicas()).isEmpty();
    assertThat(RoutingProbe.knownElsewhere(world.routers)).isZero();
    world.assertAtRest();
  }

  private List<String> replicas() {
    List<String> ids = new ArrayList<>();
    world.router.forEachReplica((id, ongoing) -> ids.add(id));
    return ids;
  }
}
