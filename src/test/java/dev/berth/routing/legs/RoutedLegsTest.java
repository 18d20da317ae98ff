package dev.berth.routing.legs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.api.Selections;
import dev.berth.fakes.FakeParent;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.HandleFactory;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RoutingProbe;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Slots of several deployments, all or none. */
class RoutedLegsTest {
  private static final DeploymentId A = new DeploymentId("app", "a");
  private static final DeploymentId B = new DeploymentId("app", "b");
  private static final DeploymentId C = new DeploymentId("app", "c");

  private final RoutingWorld world = new RoutingWorld(2, RoutingProbe.DEFAULTS);
  private final List<RoutingWorld.Replica> replicas = new ArrayList<>();
  private RoutingWorld.Replica a;
  private ReplicaSelection busy;

  private RoutingWorld.Replica replica(DeploymentId deployment, int max) {
    return added(world.local(deployment, deployment.name() + "1", max));
  }

  private RoutingWorld.Replica added(RoutingWorld.Replica made) {
    replicas.add(made);
    return world.published(made);
  }

  /** One of each, with one slot. */
  private void replicas(DeploymentId... deployments) {
    for (DeploymentId each : deployments) {
      replica(each, 1);
    }
  }

  private RoutingWorld.Replica elsewhere(DeploymentId deployment, int max) {
    return added(world.remote(deployment, deployment.name() + "2", max));
  }

  private HandleFactory handle(DeploymentId deployment) {
    return world.handle(deployment, 0);
  }

  private List<HandleFactory> handles(DeploymentId... deployments) {
    return List.of(deployments).stream().map(this::handle).toList();
  }

  private Future<Selections> all(DeploymentId... deployments) {
    return world.settled(Selections.all(handles(deployments)));
  }

  private ReplicaSelection one(DeploymentId deployment) {
    return world.chosen(handle(deployment));
  }

  /** One that has one slot, which is taken. */
  private ReplicaSelection busy(DeploymentId deployment) {
    replica(deployment, 1);
    return one(deployment);
  }

  private void free(ReplicaSelection busy) {
    world.settled(busy.close());
  }

  /** Each once it is there, which the one before may have to make room for. */
  @SafeVarargs
  private void close(Future<Selections>... all) {
    for (Future<Selections> chosen : all) {
      assertThat(chosen.succeeded()).as("chosen: %s", chosen.cause()).isTrue();
      world.settled(chosen.result().close());
    }
  }

  private static void assertFailed(Future<?> chosen, Class<? extends BerthException> kind) {
    assertThat(chosen.failed()).as("failed: %s", chosen).isTrue();
    assertThat(chosen.cause()).isInstanceOf(kind);
  }

  private void cancel(Pending<Selections> choice) {
    world.run(choice::cancel);
    assertFailed(choice.future(), BerthException.Cancelled.class);
  }

  /** A slot of A is held by one who waits for the only one of B. */
  private Future<Selections> waitsForB() {
    a = replica(A, 1);
    busy = busy(B);
    return all(A, B);
  }

  private DeploymentRouter router(DeploymentId deployment) {
    return world.routers.router(deployment, RoutingProbe.DEFAULTS);
  }

  /** Whatever a test did: in the end nothing is held, waited for or owed. */
  @AfterEach
  void nothingIsLeft() {
    world.run();
    world.assertAtRest(replicas.toArray(RoutingWorld.Replica[]::new));
  }

  @Nested
  class AllOrNone {
    @Test
    void aSlotOfEachIsHeldAndTheyComeInTheOrderAskedFor() {
      replicas(A, B);
      replica(C, 1);
      Future<Selections> chosen = all(C, A, B);
      assertThat(chosen.result().selections())
          .extracting(ReplicaSelection::deployment)
          .containsExactly(C, A, B);
      assertThat(replicas).allSatisfy(each -> assertThat(each.ledger.reserved()).isOne());
      close(chosen);
    }

    @Test
    void eachIsDispatchedOrClosedByItself() {
      RoutingWorld.Replica a = replica(A, 1);
      RoutingWorld.Replica b = replica(B, 1);
      Selections chosen = all(A, B).result();
      Future<Response> response = world.settled(chosen.get(1).dispatch(Request.get("/")));
      b.finish();
      assertThat(response.result().status()).isEqualTo(200);
      assertThat(a.ledger.reserved()).isOne();
      chosen.close();
      assertThat(a.ledger.reserved()).isZero();
    }

    @Test
    void whereOneIsUnavailableNoneIsHeld() {
      RoutingWorld.Replica a = replica(A, 1);
      router(B)
          .update(
              new RoutingSnapshot(B, new RoutingSnapshot.SnapshotVersion(1, 99), false, List.of()));
      assertFailed(all(A, B), BerthException.DeploymentUnavailable.class);
      assertThat(a.ledger.view("r", 0).released()).isOne();
    }

    @Test
    void whereTheQueueOfOneIsFullNoneIsHeld() {
      RoutingWorld.Replica a = replica(A, 1);
      replica(B, 1);
      router(B).configure(RoutingProbe.withMaxQueued(RoutingProbe.DEFAULTS, 1));
      ReplicaSelection busy = one(B);
      Future<ReplicaSelection> queued = handle(B).choose();
      assertFailed(all(A, B), BerthException.BackPressure.class);
      assertThat(a.ledger.ongoing()).isZero();
      free(busy);
      queued.result().close();
    }

    @Test
    void theEarliestTimeoutEndsTheWaitForAll() {
      RoutingWorld.Replica a = replica(A, 1);
      ReplicaSelection busy = busy(B);
      Future<Selections> chosen =
          Selections.all(
              handle(A).withTimeout(Duration.ofSeconds(9)),
              handle(B).withTimeout(Duration.ofSeconds(2)));
      world.pass(Duration.ofMillis(1900));
      assertThat(a.ledger.reserved()).isOne();
      world.pass(Duration.ofMillis(150));
      assertFailed(chosen, BerthException.Timeout.class);
      busy.close();
    }

    @Test
    void aDispatchHasTheDeadlineOfItsOwnHandle() {
      replica(A, 1);
      RoutingWorld.Replica b = replica(B, 1);
      Future<Selections> chosen =
          Selections.all(
              handle(A).withTimeout(Duration.ofSeconds(1)),
              handle(B).withTimeout(Duration.ofSeconds(5)));
      world.run();
      Future<Response> slow = chosen.result().get(0).dispatch(Request.get("/"));
      Future<Response> response = chosen.result().get(1).dispatch(Request.get("/"));
      world.pass(Duration.ofSeconds(3));
      assertFailed(slow, BerthException.Timeout.class);
      b.finish();
      assertThat(response.succeeded()).isTrue();
    }

    @Test
    void withoutAnyTimeoutTheQueuesTimeoutEndsTheWaitAsTheOneWaitedForRefuses() {
      world.routers.router(B, RoutingProbe.refusing(RoutingProbe.DEFAULTS, 429, 7));
      Future<Selections> chosen = waitsForB();
      for (int second = 0; second < 61; second++) {
        busy.renew();
        world.pass(Duration.ofSeconds(1));
      }
      assertThat(chosen.cause())
          .isInstanceOfSatisfying(
              BerthException.BackPressure.class,
              refused -> assertThat(refused.statusCode()).hasValue(429));
      busy.close();
    }

    @Test
    void aDeadlineThatHasPassedReservesNothing() {
      replica(A, 1);
      FakeParent parent = new FakeParent();
      parent.remaining = Duration.ZERO;
      Future<Selections> chosen =
          world.settled(Selections.all(handle(A).within(parent), handle(A)));
      assertFailed(chosen, BerthException.Timeout.class);
      assertThat(replicas.get(0).ledger.view("r", 0).granted()).isZero();
      assertThat(parent.children()).isZero();
    }

    @Test
    void noHandlesAreRefusedAndSoAreThoseOfAnotherInstance() {
      replica(A, 1);
      assertThatThrownBy(() -> Selections.all(List.of()))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("at least one");
      DeploymentHandle foreign = new RoutingWorld().handle();
      assertThatThrownBy(() -> Selections.all(handle(A), foreign))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("one instance");
    }

    @Test
    void handlesOfSeveralLoopsAreChosenOnTheLoopOfTheFirst() {
      replicas(A, B);
      Future<Selections> chosen =
          world.settled(Selections.all(world.handle(B, 1), world.handle(A, 0)));
      assertThat(world.routers.loop(1).deadlines()).isEqualTo(2);
      assertThat(world.routers.loop(0).deadlines()).isZero();
      close(chosen);
    }
  }

  @Nested
  class TheOrder {
    @Test
    void whoAsksInTheOtherOrderWaitsAndGetsBoth() {
      replicas(A, B);
      Future<Selections> first = all(A, B);
      Future<Selections> second = all(B, A);
      assertThat(second.isComplete()).isFalse();
      close(first, second);
    }

    @Test
    void whoWaitsForTheFirstHoldsNothingOfTheSecond() {
      replica(A, 1);
      RoutingWorld.Replica b = replica(B, 1);
      ReplicaSelection busy = one(A);
      Future<Selections> waiting = all(B, A);
      assertThat(b.ledger.ongoing()).isZero();
      free(busy);
      close(waiting);
    }

    @Test
    void aChooseThatCameLaterDoesNotOvertake() {
      Future<Selections> waiting = waitsForB();
      Future<ReplicaSelection> later = handle(B).choose();
      free(busy);
      assertThat(waiting.succeeded()).isTrue();
      assertThat(later.isComplete()).isFalse();
      close(waiting);
      later.result().close();
    }
  }

  @Nested
  class SeveralOfOneDeployment {
    @Test
    void oneCollectsAtATimeSoTwoThatWantBothSlotsBothGetThem() {
      RoutingWorld.Replica a = replica(A, 2);
      ReplicaSelection busy = one(A);
      Future<Selections> first = all(A, A);
      Future<Selections> second = all(A, A);
      assertThat(router(A).legGate.size()).isOne();
      assertThat(router(A).queued()).isOne();
      free(busy);
      assertThat(first.succeeded()).isTrue();
      assertThat(a.ledger.reserved()).isEqualTo(2);
      close(first, second);
    }

    @Test
    void singlesThatCameBeforeASlotIsAskedForAreServedInTheirTurn() {
      replica(A, 2);
      Future<Selections> holds = all(A, A);
      Future<ReplicaSelection> single = handle(A).choose();
      Future<Selections> second = all(A, A);
      Future<Selections> third = all(A, A);
      close(holds);
      assertThat(single.succeeded()).isTrue();
      assertThat(second.isComplete()).isFalse();
      world.settled(single.result().close());
      close(second, third);
    }

    @Test
    void thoseThatWantOneSlotNeedNoGate() {
      replica(A, 3);
      ReplicaSelection busy = one(A);
      Future<Selections> collecting = all(A, A, A);
      Future<Selections> gated = all(A, A);
      assertThat(router(A).legGate.size()).isOne();
      Future<Selections> single = all(A);
      assertThat(router(A).queued()).as("the third slot, and the single").isEqualTo(2);
      free(busy);
      close(collecting, single, gated);
    }

    @Test
    void moreThanThereAreSlotsIsRefusedAtOnce() {
      RoutingWorld.Replica a = replica(A, 2);
      Future<Selections> chosen = all(A, A, A);
      assertFailed(chosen, BerthException.BackPressure.class);
      assertThat(chosen.cause()).hasMessageContaining("app#a: 3 (expected: at most the 2 it has)");
      assertThat(a.ledger.view("r", 0).granted()).isZero();
    }

    @Test
    void slotsOfSeveralNodesAreNotCollectedAndThoseOfOneAre() {
      RoutingWorld.Replica a = replica(A, 2);
      added(world.remote(A, "a2", 2));
      replica(B, 1);
      Future<Selections> chosen = all(A, B, A);
      assertFailed(chosen, BerthException.BackPressure.class);
      assertThat(chosen.cause())
          .hasMessageContaining("app#a: 2 (expected: at most 1, of replicas on 2 nodes)");
      assertThat(a.ledger.view("r", 0).granted()).isZero();
      close(all(A, B));
    }

    @Test
    void sixteenLegsOfOneDeploymentAreHeldTogether() {
      RoutingWorld.Replica a = replica(A, 16);
      DeploymentId[] sixteen =
          IntStream.range(0, 16).mapToObj(leg -> A).toArray(DeploymentId[]::new);
      Future<Selections> chosen = all(sixteen);
      assertThat(a.ledger.reserved()).isEqualTo(16);
      close(chosen);
    }

    @Test
    void theGateHasThePlacesOfTheQueue() {
      replica(A, 2);
      router(A).configure(RoutingProbe.withMaxQueued(RoutingProbe.DEFAULTS, 2));
      ReplicaSelection busy = one(A);
      ReplicaSelection alsoBusy = one(A);
      Future<Selections> collecting = all(A, A);
      Future<Selections> second = all(A, A);
      Future<Selections> third = all(A, A);
      assertFailed(all(A, A), BerthException.BackPressure.class);
      busy.close();
      world.settled(alsoBusy.close());
      close(collecting, second, third);
    }

    @Test
    void whoWaitsAtTheGateEndsByItsDeadline() {
      replica(A, 2);
      Future<Selections> holds = all(A, A);
      Future<Selections> collecting = all(A, A);
      Future<Selections> gated = Selections.all(Duration.ofSeconds(1), handles(A, A));
      world.pass(Duration.ofMillis(1025));
      assertFailed(gated, BerthException.Timeout.class);
      close(holds, collecting);
    }

    /** Also where its turn is on its way to it. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whoIsCancelledAtTheGateLeavesItToTheNext(boolean itsTurn) {
      replica(A, 2);
      Future<Selections> holds = all(A, A);
      Pending<Selections> collecting = Selections.startAll(handles(A, A));
      Pending<Selections> gated = Selections.startAll(handles(A, A));
      Future<Selections> last = all(A, A);
      (itsTurn ? collecting : gated).cancel();
      (itsTurn ? gated : collecting).cancel();
      close(holds, last);
      assertFailed(gated.future(), BerthException.Cancelled.class);
    }
  }

  @Nested
  class NotWaiting {
    private Future<Selections> now(DeploymentId... deployments) {
      Future<Selections> chosen =
          world.settled(Selections.all(Duration.ZERO, handles(deployments)));
      return chosen;
    }

    @Test
    void whatIsFreeIsHeldAtOnce() {
      replica(A, 1);
      replica(B, 2);
      close(now(A, B, B));
    }

    @Test
    void oneRefusalReleasesTheRest() {
      RoutingWorld.Replica a = replica(A, 1);
      ReplicaSelection busy = busy(B);
      assertFailed(now(A, B), BerthException.BackPressure.class);
      assertThat(a.ledger.view("r", 0).released()).isOne();
      assertThat(router(B).queued()).isZero();
      busy.close();
    }

    @Test
    void whoDoesNotWaitDoesNotWaitAtTheGateEither() {
      replica(A, 2);
      ReplicaSelection busy = one(A);
      Future<Selections> collecting = all(A, A);
      assertFailed(now(A, A), BerthException.BackPressure.class);
      free(busy);
      close(collecting);
    }

    @Test
    void aRefusalFromElsewhereIsTriedOnAnotherReplica() {
      RoutingWorld.Replica full = elsewhere(A, 1);
      full.ledger.tryAcquire(); // by someone we do not know of
      added(world.remote(A, "a3", 1));
      for (int times = 0; times < 8; times++) {
        close(now(A));
      }
      full.ledger.complete();
    }

    @Test
    void withoutAnAnswerFromElsewhereItEnds() {
      RoutingWorld.Replica a = replica(A, 1);
      RoutingWorld.Replica b = elsewhere(B, 1);
      b.silent = true;
      Future<Selections> chosen = now(A, B);
      assertThat(a.ledger.reserved()).isOne();
      world.pass(Duration.ofMillis(5_050));
      assertFailed(chosen, BerthException.BackPressure.class);
      b.silent = false;
      world.pass(Duration.ofSeconds(1)); // its release is repeated
    }

    @Test
    void oneAloneWithoutAnAnswerFromElsewhereEndsToo() {
      RoutingWorld.Replica b = elsewhere(B, 1);
      b.silent = true;
      world.pass(Duration.ofMillis(25)); // else it would end at the number that says never
      Future<Selections> chosen = now(B);
      world.pass(Duration.ofMillis(5_050));
      assertFailed(chosen, BerthException.BackPressure.class);
      b.silent = false;
      world.pass(Duration.ofSeconds(1));
    }

    @Test
    void oneAloneThatIsPastItsDeadlineSaysSo() {
      RoutingWorld.Replica b = elsewhere(B, 1);
      b.silent = true;
      Future<Selections> chosen =
          Selections.all(
              Duration.ZERO, List.of(world.handle(B, 0).withTimeout(Duration.ofSeconds(1))));
      world.pass(Duration.ofMillis(1_050));
      assertFailed(chosen, BerthException.Timeout.class);
      b.silent = false;
      world.pass(Duration.ofSeconds(1));
    }
  }

  @Nested
  class Leases {
    @Test
    void whatIsHeldOutlivesTheWaitAndThenLastsItsFullTime() {
      replicas(A, B);
      RoutingWorld.Replica c = elsewhere(C, 1);
      ReplicaSelection busy = one(C);
      Future<Selections> chosen = all(A, B, C);
      for (int second = 0; second < 30; second++) {
        busy.renew();
        world.pass(Duration.ofSeconds(1));
      }
      assertThat(chosen.isComplete()).isFalse();
      assertThat(c.ledger.reserved()).isOne();
      free(busy);
      assertThat(chosen.result().selections())
          .allSatisfy(each -> assertThat(each.leaseRemaining()).isEqualTo(Duration.ofSeconds(10)));
      world.pass(Duration.ofSeconds(9));
      assertThat(chosen.result().selections())
          .allSatisfy(each -> assertThat(each.leaseRemaining()).isPositive());
      close(chosen);
    }

    @Test
    void leasesElsewhereAreRenewedByMessagesWhileOthersAreWaitedFor() {
      elsewhere(A, 1);
      ReplicaSelection busy = busy(B);
      Future<Selections> chosen = all(A, B);
      busy.renew();
      world.pass(Duration.ofSeconds(9));
      assertThat(world.sent(BusMessage.RenewLease.class)).hasSize(2);
      free(busy);
      assertThat(world.sent(BusMessage.RenewLease.class)).hasSize(3);
      assertThat(chosen.result().get(0).leaseRemaining()).isEqualTo(Duration.ofSeconds(10));
      close(chosen);
    }

    @Test
    void aLeaseElsewhereThatWasGrantedAMomentAgoIsNotRenewed() {
      elsewhere(A, 1);
      replica(B, 1);
      Future<Selections> chosen = all(A, B);
      assertThat(world.sent(BusMessage.RenewLease.class)).isEmpty();
      close(chosen);
    }

    @Test
    void aShortLeaseIsOneSecondAndTheLongestIsTheMaximum() {
      replica(A, 2);
      Future<Selections> chosen =
          Selections.all(
              handle(A).withReservationTtl(Duration.ofMillis(1)),
              handle(A).withReservationTtl(Duration.ofHours(1)));
      world.run();
      assertThat(chosen.result().get(0).leaseRemaining()).isEqualTo(Duration.ofSeconds(1));
      assertThat(chosen.result().get(1).leaseRemaining()).isEqualTo(Duration.ofSeconds(300));
      close(chosen);
    }

    @Test
    void nobodyWhoTookThemAndVanishedKeepsThem() {
      replicas(A, B);
      all(A, B);
      world.pass(Duration.ofMillis(10_050));
    }

    @Test
    void aReplicaThatDiesWhileOthersAreWaitedForIsReplacedOnce() {
      Future<Selections> chosen = waitsForB();
      assertThat(a.ledger.reserved()).isOne();
      die(a);
      fresh();
      free(busy);
      assertThat(chosen.result().get(0).replicaId()).isEqualTo("a9");
      close(chosen);
    }

    @Test
    void aReplicaThatDiesIsNoticedWhileStillWaiting() {
      Future<Selections> chosen = waitsForB();
      die(a);
      RoutingWorld.Replica fresh = fresh();
      world.pass(Duration.ofSeconds(4));
      assertThat(fresh.ledger.reserved()).isOne();
      free(busy);
      close(chosen);
    }

    @Test
    void aSecondLossIsToldToTheCallerAndNothingIsHeld() {
      Future<Selections> chosen = waitsForB();
      die(a);
      RoutingWorld.Replica fresh = world.published(world.local(A, "a9", 1));
      world.pass(Duration.ofSeconds(4));
      assertThat(fresh.ledger.reserved()).isOne();
      world.withdraw(fresh);
      free(busy);
      assertFailed(chosen, BerthException.ReplicaUnavailable.class);
      assertThat(chosen.cause()).hasMessageContaining("app#a");
    }

    /** Starts in the place of A's. */
    private RoutingWorld.Replica fresh() {
      return added(world.local(A, "a9", 1));
    }

    private void die(RoutingWorld.Replica dead) {
      replicas.remove(dead);
      world.withdraw(dead);
    }

    @Test
    void aReplicaThatDrainsKeepsWhatItGranted() {
      Future<Selections> chosen = waitsForB();
      a.ledger.drain();
      world.publish();
      free(busy);
      close(chosen);
    }
  }

  @Nested
  class Cancelled {
    @Test
    void whileWaitingItGivesBackWhatIsHeld() {
      RoutingWorld.Replica a = replica(A, 1);
      ReplicaSelection busy = busy(B);
      Pending<Selections> choice = world.settled(Selections.startAll(handles(A, B)));
      choice.cancel();
      assertThat(a.ledger.ongoing()).isZero();
      assertThat(router(B).queued()).isZero();
      world.run();
      assertFailed(choice.future(), BerthException.Cancelled.class);
      choice.cancel();
      busy.close();
    }

    @Test
    void aSlotOnItsWayIsGivenBack() {
      replica(A, 1);
      RoutingWorld.Replica b = elsewhere(B, 1);
      Pending<Selections> choice = Selections.startAll(handles(A, B));
      cancel(choice); // the reserve is under way
      assertThat(b.ledger.ongoing()).isZero();
    }

    @Test
    void aGrantOnItsWayIsGivenBack() {
      replica(A, 1);
      ReplicaSelection busy = busy(B);
      Pending<Selections> choice = world.settled(Selections.startAll(handles(A, B)));
      busy.close(); // its slot is granted, and the task waits
      cancel(choice);
    }

    @Test
    void whileTheLeasesAreConfirmedItGivesThemBack() {
      RoutingWorld.Replica a = elsewhere(A, 1);
      ReplicaSelection busy = busy(B);
      Pending<Selections> choice = Selections.startAll(handles(A, B));
      world.pass(Duration.ofSeconds(2));
      a.silent = true;
      free(busy);
      assertThat(choice.future().isComplete()).isFalse();
      a.silent = false;
      cancel(choice);
      world.pass(Duration.ofSeconds(6)); // what the silent one was sent is forgotten
    }

    @Test
    void theParentOfAnyHandleTakesAllWithIt() {
      RoutingWorld.Replica a = replica(A, 1);
      ReplicaSelection busy = busy(B);
      FakeParent parent = new FakeParent();
      Future<Selections> chosen =
          world.settled(Selections.all(handle(A).within(parent), handle(B)));
      assertThat(a.ledger.reserved()).isOne();
      parent.cancel();
      assertThat(a.ledger.reserved()).isZero();
      world.run();
      assertFailed(chosen, BerthException.Cancelled.class);
      assertThat(parent.children()).isZero();
      busy.close();
    }
  }

  @Nested
  class BlockedLoops {
    @Test
    void aHolderOnABlockedLoopLosesTheGateAndBeginsAnew() {
      RoutingWorld.Replica a = replica(A, 2);
      ReplicaSelection busy = one(A);
      Future<Selections> blocked =
          world.settled(Selections.all(world.handle(A, 1), world.handle(A, 1)));
      assertThat(a.ledger.reserved()).isEqualTo(2);
      world.routers.loopBlocked(1, true);
      Future<Selections> other = Selections.all(handles(A, A));
      assertThat(router(A).legGate.size()).isZero();
      world.routers.loopBlocked(1, false);
      world.run(); // the blocked one gives back its slot and stands behind
      assertThat(router(A).legGate.size()).isOne();
      assertThat(other.isComplete()).isFalse();
      free(busy);
      assertThat(blocked.isComplete()).isFalse();
      close(other, blocked);
    }

    @Test
    void whoWaitsAtTheGateOnABlockedLoopIsPassedOverAndKeepsItsPlace() {
      replica(A, 2);
      Future<Selections> holds = all(A, A);
      Pending<Selections> collecting = Selections.startAll(handles(A, A));
      Future<Selections> blocked = Selections.all(world.handle(A, 1), world.handle(A, 1));
      Future<Selections> behind = all(A, A);
      world.routers.loopBlocked(1, true);
      collecting.cancel();
      close(holds);
      assertThat(behind.succeeded()).isTrue();
      assertThat(blocked.isComplete()).isFalse();
      world.routers.loopBlocked(1, false);
      close(behind, blocked);
    }
  }

  @Nested
  class Scoped {
    @Test
    void withAllClosesWhatWasNotDispatchedWhateverHappensInside() {
      RoutingWorld.Replica a = replica(A, 1);
      replica(B, 1);
      IllegalStateException mine = new IllegalStateException("mine");
      Future<Object> used =
          Selections.withAll(
              handles(A, B),
              selections -> {
                throw mine;
              });
      world.run();
      assertThat(used.cause()).isSameAs(mine);
      Future<Response> response =
          Selections.withAll(
              handles(A, B), selections -> selections.get(0).dispatch(Request.get("/")));
      world.run();
      a.finish();
      assertThat(response.result().status()).isEqualTo(200);
    }

    @Test
    void aFailingReleaseIsSuppressedInTheFirstFailure() {
      replica(A, 1);
      RoutingWorld.Replica b = elsewhere(B, 1);
      ReplicaSelection busy = busy(C);
      Pending<Selections> choice = world.settled(Selections.startAll(handles(A, B, C)));
      b.failingSends = true;
      cancel(choice);
      assertThat(choice.future().cause().getSuppressed()).hasSize(1);
      b.failingSends = false;
      busy.close();
      world.pass(Duration.ofMillis(10_050)); // that lease runs out by itself
    }
  }
}
