package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.berth.api.BerthException;
import dev.berth.api.CallOptions;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.AttemptId;
import dev.berth.protocol.Refusal;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that take several slots of one replica, beside requests that take one. */
class LargeRequestsTest {
  private static final Duration OVERTAKE = Duration.ofNanos(RoutingProbe.OVERTAKE_NANOS);

  private final RoutingWorld world = new RoutingWorld();

  private Future<Response> call(String path, int cost) {
    return world.settled(world.handle().withCost(cost).call(Request.post(path, Buffer.buffer())));
  }

  private static List<String> paths(RoutingWorld.Replica replica) {
    return replica.running.stream().map(call -> call.request().path()).toList();
  }

  private static AttemptId attempt(long number) {
    return new AttemptId(99, 0, number);
  }

  /** Ends the oldest small request, and sends the next, as clients do that never stop. */
  private void turnOver(RoutingWorld.Replica replica, int number) {
    call("/small" + number, 1);
    replica.finish();
  }

  @Test
  void requestTakesItsSlotsTogetherAndFreesThemTogether() {
    RoutingWorld.Replica replica = world.published(world.local("r", 5));
    Future<Response> response = call("/large", 4);
    assertThat(replica.ledger.running()).isEqualTo(4);
    assertThat(world.router.running()).isEqualTo(4);
    call("/wide", 2);
    assertThat(world.router.queued()).isEqualTo(2);
    assertThat(world.router.queuedRequests()).isOne();
    replica.finish();
    assertThat(response.succeeded()).isTrue();
    assertThat(replica.ledger.running()).isEqualTo(2);
    replica.finish();
    world.assertAllAtRest();
  }

  @Test
  void smallerRequestUsesTheSlotsThatAnOlderLargerOneCannot() {
    RoutingWorld.Replica replica = world.published(world.local("r", 4));
    call("/first", 2);
    call("/large", 3);
    call("/small", 1);
    call("/middle", 2);
    assertThat(paths(replica)).containsExactly("/first", "/small");
    replica.finish();
    assertThat(paths(replica)).containsExactly("/small", "/large");
    replica.finishAll();
    world.assertAllAtRest();
  }

  @Test
  void overtakenRequestStartsOnceTheSlotsOfOneReplicaAreKeptForIt() {
    RoutingWorld.Replica replica = world.published(world.local("r", 4));
    for (int i = 0; i < 4; i++) {
      call("/before" + i, 1);
    }
    call("/large", 4);
    int number = 0;
    for (Duration waited = Duration.ZERO; // overtaken from the first turn
        waited.compareTo(OVERTAKE) < 0;
        waited = waited.plusMillis(100)) {
      turnOver(replica, number++);
      assertThat(replica.ledger.running()).as("work goes on").isEqualTo(4);
      world.pass(Duration.ofMillis(100));
    }
    for (int turns = 0; turns < 4; turns++) {
      assertThat(paths(replica)).doesNotContain("/large").hasSize(4 - turns);
      turnOver(replica, number++);
    }
    assertThat(paths(replica)).containsExactly("/large");
    replica.finish();
    assertThat(replica.ledger.running()).as("the others go on").isEqualTo(4);
    replica.finishAll();
    world.assertAllAtRest();
  }

  /** Only one replica is kept, that with the most free slots; remote routers get none there. */
  @Test
  void otherReplicasServeWhileOneIsKept() {
    RoutingWorld.Replica one = world.local("one", 3);
    RoutingWorld.Replica two = world.published(world.local("two", 3));
    for (int i = 0; i < 6; i++) {
      call("/before" + i, 1);
    }
    call("/large", 3);
    call("/small", 1);
    one.finish();
    world.pass(OVERTAKE);
    call("/small2", 1);
    one.finish(); // from now on kept
    call("/small3", 1);
    assertThat(paths(one)).doesNotContain("/small2", "/small3").hasSize(2);
    assertThat(one.ledger.tryAcquire(attempt(7), 1)).isEqualTo(Refusal.FULL);
    two.finish();
    two.finish();
    assertThat(paths(two)).contains("/small2", "/small3");
    one.finish();
    one.finish();
    assertThat(paths(one)).containsExactly("/large");
    one.finishAll();
    two.finishAll();
    world.assertAllAtRest();
  }

  @Test
  void keptSlotsAreFreeAgainWhenTheirWaiterLeaves() {
    RoutingWorld.Replica replica = world.published(world.local("r", 2));
    call("/one", 1);
    call("/two", 1);
    var large =
        world.settled(world.handle().withCost(2).start(Request.post("/large", Buffer.buffer())));
    call("/small", 1);
    replica.finish();
    world.pass(OVERTAKE);
    call("/small2", 1);
    replica.finish();
    assertThat(paths(replica)).containsExactly("/small");
    large.cancel();
    world.run();
    assertThat(paths(replica)).containsExactly("/small", "/small2");
    assertThat(replica.ledger.tryAcquire(attempt(8), 1)).isEqualTo(Refusal.FULL);
    replica.finishAll();
    assertThat(replica.ledger.tryAcquire(attempt(9), 1)).as("no longer kept").isNull();
    replica.ledger.complete();
    world.assertAllAtRest();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void costAboveEveryReplicaFailsAtOnceAndAfterALoweredMaximum(boolean lowered) {
    RoutingWorld.Replica replica = world.published(world.local("r", lowered ? 8 : 4));
    call("/running", 1);
    Future<Response> large = call("/large", 8);
    if (lowered) {
      assertThat(large.isComplete()).isFalse();
      replica.ledger.setMaxOngoing(4);
      replica.finish();
    }
    assertThat(large.cause())
        .isInstanceOf(BerthException.CostTooLarge.class)
        .hasMessage("cost: 8 (expected: at most max_ongoing_requests of a replica)");
    replica.finishAll();
    world.assertAllAtRest();
  }

  @Test
  void costAboveAClosedReplicaWaitsForItToOpen() {
    RoutingWorld.Replica replica = world.published(world.local("r", 8));
    replica.ledger.setMaxOngoing(0);
    Future<Response> large = call("/large", 8);
    assertThat(large.isComplete()).isFalse();
    replica.ledger.setMaxOngoing(8);
    world.run();
    replica.finish();
    assertThat(large.succeeded()).isTrue();
  }

  @Test
  void selectionHoldsTheSlotsOfItsDispatch() {
    RoutingWorld.Replica replica = world.published(world.local("r", 4));
    ReplicaSelection selection = world.chosen(world.handle().withCost(3));
    assertThat(replica.ledger.reserved()).isEqualTo(3);
    assertThat(world.router.reserved()).isEqualTo(3);
    world.settled(selection.dispatch(Request.post("/x", Buffer.buffer())));
    assertThat(replica.running.get(0).cost()).isEqualTo(3);
    assertThat(replica.ledger.running()).isEqualTo(3);
    replica.finish();
    world.settled(world.chosen(world.handle().withCost(3)).close());
    world.assertAllAtRest();
  }

  @Test
  void remoteReplicaGetsACallOnlyWhileItsEstimateHasItsSlots() {
    RoutingWorld.Replica far = world.published(world.remote("far", 4));
    List<Future<Response>> all = new ArrayList<>();
    all.add(call("/a", 3));
    all.add(call("/b", 2));
    all.add(call("/c", 1));
    assertThat(paths(far)).containsExactly("/a", "/c");
    assertThat(far.ledger.running()).isEqualTo(4);
    far.finish();
    assertThat(paths(far)).containsExactly("/c", "/b");
    ReplicaSelection held = world.chosen(world.handle());
    far.finishAll();
    world.settled(held.close());
    assertThat(all).allMatch(Future::succeeded);
    world.assertAllAtRest();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, 65_536})
  void costOutsideItsRangeIsRefusedByName(int cost) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CallOptions.defaults().withCost(cost))
        .withMessage("cost: " + cost + " (expected: 1 to 65535)");
  }
}
