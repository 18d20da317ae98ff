package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.port.SlotLease;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What a loop that takes no tasks costs the requests that have nothing to do with it: nothing. */
class BlockedLoopTest {
  private static final int BLOCKED = 1;

  private final RoutingWorld world = new RoutingWorld(3, RoutingProbe.DEFAULTS);
  private final RoutingWorld.Replica well = world.local("well", 2, 0, true);
  private final RoutingWorld.Replica stuck = world.local("stuck", 2, BLOCKED, true);

  private Future<Response> call(int loop) {
    return world.handle(loop).call(Request.get("/"));
  }

  private void block() {
    world.routers.loopBlocked(BLOCKED, true);
  }

  private void publishAndBlock() {
    world.publish();
    block();
  }

  /** So many, all of which are to run or to wait. */
  private List<Future<Response>> calls(int count) {
    return world.settled(Stream.generate(() -> call(0)).limit(count).toList());
  }

  private void heal() {
    world.routers.loopBlocked(BLOCKED, false);
  }

  // --- its replicas ---

  @Test
  void newRequestsAvoidItsReplicas() {
    publishAndBlock();
    for (int i = 0; i < 50; i++) {
      world.settled(call(i % 2 * 2));
      assertThat(well.running).hasSize(1);
      well.finish();
    }
    assertThat(stuck.executions).isZero();
  }

  @Test
  void soDoesChoose() {
    publishAndBlock();
    for (int i = 0; i < 20; i++) {
      Future<ReplicaSelection> chosen = world.settled(world.handle().choose());
      assertThat(chosen.result().replicaId()).isEqualTo("well");
      world.settled(chosen.result().close());
    }
  }

  @Test
  void whoFindsTheOthersFullWaitsForThemAndNotForIt() {
    publishAndBlock();
    Future<Response> third = calls(3).get(2);
    assertThat(well.running).hasSize(2);
    assertThat(stuck.ledger.ongoing()).isZero();
    well.finish();
    well.respond();
    well.finish();
    Response.Body answer = third.result().body();
    assertThat(((Response.Body.Whole) answer).bytes()).hasToString("well");
  }

  @Test
  void whatItsReplicaCompletesIsHandedToNoOne() {
    world.publish();
    calls(5);
    assertThat(stuck.running).hasSize(2);
    block();
    stuck.respond(); // a blocking handler of it, on its own thread
    world.run();
    assertThat(stuck.ledger.ongoing()).isOne();
    assertThat(world.router.queued()).isOne();
    assertThat(world.router.handOffs()).isZero();
    well.finish();
    assertThat(world.router.queued()).isZero();
    assertThat(well.executions).isEqualTo(3);
  }

  @Test
  void theyStayCandidatesWhereThereIsNothingBetter() {
    world.withdraw(well);
    block();
    world.settled(call(0));
    assertThat(stuck.running).hasSize(1);
  }

  @Test
  void theyAreCandidatesAgainWhenTheLastOtherOneLeaves() {
    world.publish();
    Future<Response> waiting = calls(5).get(4);
    block();
    stuck.finish();
    assertThat(waiting.isComplete()).isFalse();
    world.withdraw(well);
    world.run();
    assertThat(stuck.running).as("who waited for the other goes there").hasSize(2);
  }

  @Test
  void aReplicaThatJoinsWhileItsLoopIsBlockedIsAvoidedToo() {
    world.withdraw(stuck);
    block();
    RoutingWorld.Replica late = world.published(world.local("late", 5, BLOCKED, true));
    call(0);
    call(2);
    world.run();
    assertThat(late.executions).isZero();
    assertThat(well.executions).isEqualTo(2);
  }

  @Test
  void replicasElsewhereAreTakenBeforeIt() {
    world.remove(well);
    RoutingWorld.Replica far = world.published(world.remote("far", 3));
    block();
    calls(2);
    assertThat(far.executions).isEqualTo(2);
  }

  @Test
  void whoWaitsGetsItsSlotsAsSoonAsItRunsAgain() {
    publishAndBlock();
    calls(5);
    assertThat(world.router.queued()).isEqualTo(3);
    world.run(this::heal);
    assertThat(stuck.running).hasSize(2);
    assertThat(world.router.queued()).isOne();
    assertThat(world.router.version().counter()).as("no snapshot was needed").isOne();
  }

  @Test
  void saidTwiceItIsOnce() {
    publishAndBlock();
    block();
    heal();
    world.settled(call(BLOCKED));
    assertThat(stuck.running).as("same loop first").hasSize(1);
  }

  @Test
  void aHeldSlotOfItIsStillDispatchedThere() {
    world.publish();
    Future<ReplicaSelection> chosen = world.settled(world.handle(BLOCKED).choose());
    assertThat(chosen.result().replicaId()).isEqualTo("stuck");
    block();
    world.settled(chosen.result().dispatch(Request.get("/")));
    assertThat(stuck.running).hasSize(1);
  }

  // --- who waits on it ---

  private void fillTheOther() {
    world.withdraw(stuck);
    calls(2);
  }

  @Test
  void whoWaitsOnItIsPassedOverAndKeepsItsPlace() {
    fillTheOther();
    Future<Response> paused = call(BLOCKED);
    Future<Response> behind = call(2);
    block();
    well.finish();
    assertThat(world.router.queued()).as("who came later on a loop that runs goes on").isOne();
    assertThat(well.running.get(1).source().loop()).isEqualTo(2);
    call(0);
    assertThat(world.router.queued()).isEqualTo(2);
    heal();
    well.finish();
    assertThat(well.running.get(1).source().loop()).as("before those who came after").isOne();
    assertThat(paused.isComplete() || behind.isComplete()).isFalse();
  }

  @Test
  void aSlotThatOnlyThoseOnItWaitForIsANewcomers() {
    fillTheOther();
    call(BLOCKED);
    block();
    well.finish();
    assertThat(well.ledger.ongoing()).as("not granted to a loop that cannot take it").isOne();
    world.settled(call(2));
    assertThat(well.running).hasSize(2);
    assertThat(world.router.queued()).isOne();
  }

  @Test
  void aQueueFullOfThoseOnItRefusesNobodyWhoFindsASlot() {
    RoutingWorld small = new RoutingWorld(2, RoutingProbe.withMaxQueued(RoutingProbe.DEFAULTS, 1));
    RoutingWorld.Replica only = small.published(small.local("only", 1, 0, true));
    small.handle(0).call(Request.get("/"));
    small.settled(small.handle(1).call(Request.get("/")));
    small.routers.loopBlocked(1, true);
    small.run(only::respond);
    Future<Response> newcomer = small.settled(small.handle(0).call(Request.get("/")));
    assertThat(newcomer.failed()).isFalse();
    assertThat(only.running).hasSize(1);
    small.run(only::respond);
    assertThat(newcomer.succeeded()).isTrue();
    small.routers.loopBlocked(1, false);
    small.run();
    assertThat(small.router.queued()).isZero();
    assertThat(only.running).hasSize(1);
  }

  /** It runs already, and its beat has not been answered yet. */
  @Test
  void aNewcomerOnItDoesNotOvertakeThoseWhoWaitThere() {
    fillTheOther();
    call(BLOCKED);
    block();
    well.respond();
    well.finish();
    world.settled(call(BLOCKED));
    assertThat(world.router.queued()).isEqualTo(2);
    world.run(this::heal);
    assertThat(world.router.queued()).isZero();
    assertThat(well.running).extracting(each -> each.callId()).isSorted();
  }

  /**
   * Until it is known that its loop is blocked, a slot may be on its way to one who waits there.
   */
  @Test
  void aSlotHandedToAChooseWhoseLoopStallsIsIdleForASecondAtMost() {
    Future<ReplicaSelection> chosen = handedToAChoose();
    world.clock.advance(Duration.ofMillis(999));
    well.ledger.sweep();
    assertThat(well.ledger.ongoing()).as("it may take it yet").isEqualTo(2);
    world.clock.advance(Duration.ofMillis(2));
    well.ledger.sweep();
    assertThat(well.ledger.ongoing()).isOne();
    world.run(); // its loop runs again
    assertThat(chosen.result().leaseRemaining())
        .as("the slot is taken anew, for its whole time")
        .isEqualTo(Duration.ofSeconds(40));
  }

  @Test
  void aSlotThatIsTakenInTimeIsHeldForItsWholeTime() {
    Future<ReplicaSelection> chosen = handedToAChoose();
    world.clock.advance(Duration.ofMillis(900));
    world.run();
    assertThat(chosen.result().leaseRemaining()).isEqualTo(Duration.ofSeconds(40));
  }

  /** One of two slots that are held is released, and is on its way to that loop. */
  private Future<ReplicaSelection> handedToAChoose() {
    world.withdraw(stuck);
    SlotLease one = well.ledger.hold(Duration.ofSeconds(60).toNanos());
    well.ledger.hold(Duration.ofSeconds(60).toNanos());
    Future<ReplicaSelection> chosen =
        world.settled(world.handle(BLOCKED).withReservationTtl(Duration.ofSeconds(40)).choose());
    one.release();
    assertThat(world.router.queued()).isZero();
    return chosen;
  }

  // --- it is another instance's ---

  private RoutingWorld.Replica farAndBlocked() {
    world.withdraw(stuck);
    RoutingWorld.Replica far = world.published(world.remote("far", 2));
    tell(far, true);
    return far;
  }

  private void tell(RoutingWorld.Replica replica, boolean isBlocked) {
    replica.ledger.loopBlocked(isBlocked);
    replica.answer(
        new RouterAddress(RoutingWorld.NODE, 0),
        new BusMessage.ReplicaLoad(replica.info.address(), replica.ledger.load()));
    world.run();
  }

  @Test
  void aReplicaElsewhereIsAvoidedUntilItSaysThatItsLoopRunsAgain() {
    RoutingWorld.Replica far = farAndBlocked();
    calls(3);
    assertThat(far.executions).isZero();
    assertThat(world.router.queued()).isOne();
    tell(far, false);
    assertThat(far.running).hasSize(1);
    assertThat(world.router.queued()).isZero();
  }

  @Test
  void whatItSaidOfItsLoopIsForgottenWhenItSaysNothingMore() {
    RoutingWorld.Replica far = farAndBlocked();
    calls(3);
    world.pass(Duration.ofMillis(9_900));
    assertThat(far.executions).isZero();
    world.pass(Duration.ofSeconds(1));
    assertThat(far.running).hasSize(1);
  }

  @Test
  void itStaysACandidateWhereThereIsNothingBetter() {
    RoutingWorld.Replica far = farAndBlocked();
    world.withdraw(well);
    calls(1);
    assertThat(far.running).hasSize(1);
  }

  // --- its replica is the only one ---

  @Test
  void aDeadlineIsAnsweredOnTimeWhereTheLoopOfTheAskerRuns() {
    world.withdraw(well);
    block();
    stuck.silent = true;
    Future<Response> call =
        world.settled(world.handle(0).withTimeout(Duration.ofMillis(300)).call(Request.get("/")));
    world.pass(Duration.ofMillis(350));
    assertThat(call.cause()).isInstanceOf(BerthException.Timeout.class);
    assertThat(stuck.ledger.ongoing()).as("the slot is its replica's to give back").isOne();
  }
}
