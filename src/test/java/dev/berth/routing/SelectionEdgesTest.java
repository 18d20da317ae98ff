package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.FakeParent;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.SlotToken;
import dev.berth.routing.slots.SlotsProbe;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The edges of choose and dispatch that the reviews of seeds 000 and 001 turn on. */
class SelectionEdgesTest {
  private static final Request REQUEST = Request.post("/", Buffer.buffer("x"));

  private final RoutingWorld world = new RoutingWorld();

  private ReplicaSelection choose() {
    return world.chosen(world.handle());
  }

  /** Publishes a replica that can be reached directly, at this host and port. */
  private void publishAt(
      RoutingWorld.Replica replica, @Nullable String host, OptionalInt port, String zone) {
    ReplicaInfo info = replica.info;
    ReplicaInfo reachable =
        new ReplicaInfo(
            info.replicaId(),
            info.deployment(),
            info.address(),
            info.maxOngoing(),
            info.wholeBodyBytes(),
            info.reservable(),
            info.spread(),
            host,
            port,
            zone,
            Map.of("model", "m1"));
    world.publish(
        new RoutingSnapshot.SnapshotVersion(1, 1),
        true,
        List.of(new RoutingSnapshot.SnapshotReplica(reachable, true)));
  }

  @Test
  void aPortOfZeroIsAPort() {
    publishAt(world.local("r1", 1), "10.0.0.7", OptionalInt.of(0), "a");
    ReplicaSelection selection = choose();
    assertThat(selection.port()).hasValue(0);
    assertThat(selection.address()).contains("10.0.0.7:0");
    assertThat(selection.availabilityZone()).contains("a");
    assertThat(selection.metadata()).containsEntry("model", "m1");
  }

  @Test
  void withoutAPortTheAddressIsTheHostAlone() {
    publishAt(world.local("r1", 1), "10.0.0.7", OptionalInt.empty(), "a");
    assertThat(choose().address()).contains("10.0.0.7");
  }

  @Test
  void aRenewalThatCannotBeSentDoesNotHold() {
    RoutingWorld.Replica replica = world.published(world.remote("far", 1));
    ReplicaSelection selection = choose();
    replica.unfit = true;
    Future<Boolean> renewed = world.settled(selection.renew());
    assertThat(renewed.result()).isFalse();
    assertThat(world.routers.loop(0).pendingRequests()).isZero();
    replica.unfit = false;
    replica.unreachable = true;
    assertThat(selection.renew().result()).isFalse();
    assertThat(world.routers.loop(0).pendingRequests()).isZero();
    replica.unreachable = false;
    world.settled(selection.close());
    world.assertAtRest(replica);
  }

  @Test
  void aDispatchThatCannotBeSentFailsWithItsOwnErrorThoughItsReleaseFailsToo() {
    RoutingWorld.Replica replica = world.published(world.remote("far", 1));
    ReplicaSelection selection = choose();
    replica.failingSends = true;
    Future<Response> response = world.settled(selection.dispatch(REQUEST));
    assertThat(response.cause())
        .isInstanceOf(BerthException.class)
        .hasMessageContaining("the bus is broken");
    assertThat(response.cause().getSuppressed()).as("the failed release").hasSize(1);
    world.repeated = 1;
    world.assertAtRest();
    replica.failingSends = false;
    assertThat(RoutingProbe.over(world.router)).isOne();
    assertThat(RoutingProbe.notOver(world.router)).isZero();
    world.pass(Duration.ofSeconds(11));
    assertThat(replica.ledger.ongoing()).as("the lease ran out by itself").isZero();
  }

  @Test
  void aCallThatCannotBeSentFailsAndLeavesNothingBehind() {
    RoutingWorld.Replica replica = world.published(world.local("near", 1));
    replica.failingSends = true;
    Future<Response> response = world.settled(world.handle().call(REQUEST));
    assertThat(response.cause()).hasMessageContaining("the bus is broken");
    world.assertAtRest(replica);
  }

  @Test
  void aChooseThatCannotBeSentFailsAndHoldsNothing() {
    RoutingWorld.Replica replica = world.published(world.remote("far", 1));
    replica.failingSends = true;
    Future<ReplicaSelection> chosen = world.settled(world.handle().choose());
    assertThat(chosen.cause()).hasMessageContaining("the bus is broken");
    assertThat(SlotsProbe.own(RoutingProbe.remoteReplicas(world.router).get(0))).isZero();
    assertThat(world.routers.loop(0).pendingRequests()).isZero();
  }

  @Test
  void aDispatchedRequestCountsAsRunningAsACallDoes() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    ReplicaSelection selection = choose();
    assertThat(world.router.counters.running()).as("chosen is not sent").isZero();
    selection.dispatch(REQUEST);
    assertThat(world.router.counters.running()).isOne();
    world.run();
    replica.finish();
    assertThat(world.router.counters.running()).isZero();
  }

  @Test
  void aChooseWaitsBetweenTriesOfFullReplicasElsewhere() {
    RoutingWorld.Replica replica = world.published(world.remote("far", 1).filled());
    Future<ReplicaSelection> chosen = world.handle().choose();
    world.pass(Duration.ofSeconds(5));
    assertThat(world.sent(BusMessage.ReserveSlot.class).size())
        .as("0.025 s doubling to 0.5 s")
        .isBetween(8, 20);
    replica.ledger.complete();
    world.pass(Duration.ofMillis(800));
    assertThat(chosen.result().replicaId()).isEqualTo("far");
  }

  @Test
  void aChooserThatLeavesWhileItWaitsFreesItsPlaceAndTakesNoSlot() {
    RoutingWorld.Replica replica = world.published(world.local("r1", 1));
    ReplicaSelection holding = choose();
    ChooseOperation leaving =
        RoutingProbe.choose(
            world.router,
            world.routers.loop(0),
            Duration.ofSeconds(10).toNanos(),
            RoutingProbe::unexpected,
            failure -> assertThat(failure).isInstanceOf(BerthException.Cancelled.class));
    leaving.cancel();
    assertThat(world.router.queued()).isZero();
    world.settled(holding.close());
    assertThat(replica.ledger.ongoing()).isZero();
  }

  @Test
  void aSelectionWhoseReplicaDiedFailsItsDispatchAndTheNextChooseGoesElsewhere() {
    RoutingWorld.Replica dying = world.published(world.remote("dying", 1));
    ReplicaSelection selection = choose();
    world.remove(dying);
    RoutingWorld.Replica other = world.remote("other", 1);
    world.routers.nodeLost(dying.info.address().node());
    world.publish();
    Pending<Response> call = world.settled(selection.start(REQUEST));
    assertThat(call.future().cause()).isInstanceOf(BerthException.ReplicaUnavailable.class);
    assertThat(choose().replicaId()).isEqualTo(other.info.replicaId());
  }

  @Test
  void aDispatchCancelledBeforeItsTaskRanGivesItsSlotBackAtOnce() {
    for (boolean far : new boolean[] {false, true}) {
      RoutingWorld world = new RoutingWorld();
      RoutingWorld.Replica replica = far ? world.remote("far", 1) : world.local("near", 1);
      world.publish();
      FakeParent parent = new FakeParent();
      Future<ReplicaSelection> chosen = world.settled(world.handle().within(parent).choose());
      assertThat(chosen.result().replicaId()).isEqualTo(replica.info.replicaId());
      world.offLoop = true;
      Pending<Response> call = chosen.result().start(REQUEST); // its task waits for the loop
      world.offLoop = false;
      call.cancel(); // on the loop, and so before that task

      world.run();

      String which = replica.info.replicaId();
      assertThat(call.future().cause()).isInstanceOf(BerthException.Cancelled.class);
      assertThat(replica.ledger.ongoing())
          .as("%s: not only when its lease runs out", which)
          .isZero();
      assertThat(replica.executions).as(which).isZero();
      assertThat(parent.children()).as(which).isZero();
      assertThat(world.router.counters.reserved()).as(which).isZero();
      assertThat(world.router.counters.running()).as(which).isZero();
      assertThat(world.router.counters.undispatched.sum()).as(which).isOne();
      assertThat(world.routers.loop(0).deadlines()).as(which).isZero();
    }
  }

  /** A replica looks at more than the token; what it refuses for that must not hold the slot. */
  @Test
  void aDispatchRefusedElsewhereForAnotherReasonThanItsTokenReleasesItsLeaseAtOnce() {
    for (Refusal reason : List.of(Refusal.TOO_LATE, Refusal.OVERLOADED)) {
      RoutingWorld.Replica replica = world.published(world.remote("far " + reason, 1));
      ReplicaSelection selection = choose();
      replica.silent = true;
      Future<Response> response = world.settled(selection.dispatch(REQUEST));
      replica.silent = false;
      List<BusMessage.CallRequest> sent = world.sent(BusMessage.CallRequest.class);
      BusMessage.CallRequest last = sent.get(sent.size() - 1);
      assertThat(replica.ledger.ongoing()).as("its lease").isOne();

      replica.answer(
          last.source(), new BusMessage.CallRefused(last.callId(), reason, replica.ledger.load()));
      world.run();

      assertThat(response.cause()).isInstanceOf(BerthException.ReplicaUnavailable.class);
      assertThat(replica.ledger.ongoing()).as("%s: not only when it runs out", reason).isZero();
      world.assertAtRest();
      world.remove(replica);
    }
  }

  // --- a replica that is unavailable ---

  @Test
  void aReserveThatCannotLeaveIsTriedElsewhere() {
    RoutingWorld.Replica away = world.remote("away", 4);
    RoutingWorld.Replica other = world.remote("other", 4);
    away.unreachable = true;
    world.publish();
    List<ReplicaSelection> chosen = List.of(choose(), choose(), choose(), choose());
    assertThat(chosen).extracting(ReplicaSelection::replicaId).containsOnly("other");
    assertThat(world.sent(BusMessage.ReserveSlot.class))
        .as("one that was tried at the unavailable replica, in vain")
        .filteredOn(reserve -> reserve.target().equals(away.info.address()))
        .hasSize(1);
    chosen.forEach(ReplicaSelection::close);
    world.run();
    world.assertAtRest(away, other);
  }

  @Test
  void aReplicaThatTookNoMessageIsChosenAgainWithoutBeingPublished() {
    RoutingWorld.Replica away = world.published(world.remote("away", 1));
    away.unreachable = true;
    Future<ReplicaSelection> chosen = world.settled(world.handle().choose());
    assertThat(chosen.isComplete()).as("it waits for a replica").isFalse();
    away.unreachable = false;
    world.pass(Duration.ofMillis(100));
    assertThat(chosen.result().replicaId()).isEqualTo("away");
    world.settled(chosen.result().close());
    world.assertAtRest(away);
  }

  // --- a reserve whose answer is lost ---

  /** Its peer is given up, and a replica here is there. */
  private RoutingWorld.Replica lostAndReplaced() {
    RoutingWorld.Replica near = world.local("near", 1);
    world.routers.nodeLost("there");
    world.publish();
    world.run();
    return near;
  }

  @Test
  void aReserveWhoseAnswerIsLostIsReleasedByItsNameWhenItsCallerGivesUp() {
    RoutingWorld.Replica replica = world.published(world.remote("far", 1));
    replica.answersLost = true;
    Future<ReplicaSelection> chosen =
        world.settled(world.handle().withTimeout(Duration.ofSeconds(1)).choose());
    assertThat(replica.ledger.reserved()).as("a slot that nobody knows of").isOne();
    world.pass(Duration.ofMillis(1_050));
    assertThat(chosen.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(world.sent(BusMessage.ReleaseSlot.class))
        .singleElement()
        .satisfies(
            release ->
                assertThat(release.attempt())
                    .isEqualTo(world.sent(BusMessage.ReserveSlot.class).get(0).attempt()));
    world.repeated = 1;
    world.assertAtRest(replica); // long before its time to live is over
  }

  @Test
  void aReserveWhoseAnswerComesAfterItsPeerWasGivenUpIsReleasedAtOnce() {
    RoutingWorld.Replica away = world.published(world.remote("away", 1));
    away.answersLost = true;
    Future<ReplicaSelection> chosen = world.settled(world.handle().choose());
    BusMessage.ReserveSlot reserve = world.sent(BusMessage.ReserveSlot.class).get(0);
    RoutingWorld.Replica near = lostAndReplaced();
    assertThat(chosen.result().replicaId()).isEqualTo("near");
    assertThat(away.ledger.reserved()).isOne();
    away.answersLost = false;
    away.answer(
        reserve.source(),
        new BusMessage.SlotReserved(
            reserve.callId(),
            reserve.attempt(),
            reserve.target(),
            new SlotToken(1, 2, 3),
            10_000,
            away.ledger.load(),
            1));
    world.run();
    assertThat(away.ledger.reserved()).isZero();
    assertThat(chosen.result().leaseRemaining()).isPositive();
    world.settled(chosen.result().close());
    world.assertAtRest(away, near);
  }

  @Test
  void aReserveWhoseAnswerIsLostWithItsPeerHoldsItsSlotNoLongerThanItsTimeToLive() {
    RoutingWorld.Replica away = world.published(world.remote("away", 1));
    away.answersLost = true;
    Future<ReplicaSelection> chosen = world.settled(world.handle().choose());
    RoutingWorld.Replica near = lostAndReplaced();
    world.settled(chosen.result().close());
    assertThat(away.ledger.reserved()).isOne();
    world.pass(Duration.ofSeconds(10));
    world.assertAtRest(away, near);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aDispatchWhoseTimeIsOverBeforeItsLoopTurnsReleasesItsSlotAtOnce(boolean here) {
    RoutingWorld.Replica replica = here ? world.local("r", 1) : world.remote("r", 1);
    world.publish();
    Future<ReplicaSelection> chosen =
        world.settled(world.handle().withTimeout(Duration.ofSeconds(1)).choose());
    world.offLoop = true;
    Future<Response> response = chosen.result().dispatch(REQUEST);
    world.clock.advance(Duration.ofSeconds(1));
    world.run();
    assertThat(response.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(replica.executions).isZero();
    world.assertAtRest(replica);
  }
}
