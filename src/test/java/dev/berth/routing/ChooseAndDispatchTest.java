package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.BerthException;
import dev.berth.api.CallOptions;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.Admission;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.ReleaseSlot;
import dev.berth.protocol.BusMessage.ReserveSlot;
import dev.berth.routing.slots.RemoteReplica;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The contract of choose and dispatch: what seed 000 tests and what its reviewers found. */
class ChooseAndDispatchTest {
  private static final Request REQUEST = Request.post("/", Buffer.buffer("x"));
  private static final Duration TTL = Duration.ofSeconds(10);

  private final RoutingWorld world = new RoutingWorld();

  /** Whatever a test did. */
  @AfterEach
  void nothingIsLeft() {
    world.assertAllAtRest();
  }

  private ReplicaSelection choose(DeploymentHandle handle) {
    return world.chosen(handle);
  }

  private Future<Response> dispatch(ReplicaSelection selection) {
    return world.settled(selection.dispatch(REQUEST));
  }

  private static <T> Future<T> raise(RuntimeException failure) {
    throw failure;
  }

  private ReplicaSelection choose() {
    return choose(world.handle());
  }

  private static String body(Future<Response> response) {
    return ((Response.Body.Whole) response.result().body()).bytes().toString();
  }

  @Nested
  class OnThisInstance {
    private final RoutingWorld.Replica replica = world.published(world.local("r1", 1));

    @Test
    void chooseFailsAtOnceWhenTheDeploymentIsUnavailable() {
      world.publish(false);
      Future<ReplicaSelection> chosen = world.settled(world.handle().choose());
      assertThat(chosen.cause()).isInstanceOf(BerthException.DeploymentUnavailable.class);
    }

    @Test
    void chooseIsRefusedWhenTheQueueIsFull() {
      world.router.configure(RoutingProbe.withMaxQueued(world.router.settings(), 1));
      world.publish();
      ReplicaSelection held = choose();
      Future<ReplicaSelection> waiting = world.handle().choose();
      Future<ReplicaSelection> refused = world.settled(world.handle().choose());
      assertThat(waiting.isComplete()).isFalse();
      assertThat(refused.cause())
          .isInstanceOfSatisfying(
              BerthException.BackPressure.class,
              failure -> assertThat(failure.retryAfterSeconds()).hasValue(1));
      world.settled(held.close());
      waiting.result().close();
    }

    @Test
    void dispatchRunsOnTheHeldSlotAndOnNoOther() {
      ReplicaSelection selection = choose();
      assertThat(replica.ledger.reserved()).isOne();
      Future<Response> response = dispatch(selection);
      assertThat(replica.ledger.reserved()).isZero();
      assertThat(replica.ledger.running()).isOne();
      replica.finish();
      assertThat(body(response)).isEqualTo("r1");
    }

    @Test
    void aSelectionClosedWithoutDispatchReleasesItsSlot() {
      ReplicaSelection selection = choose();
      world.settled(selection.close());
      world.assertAtRest(replica);
      assertThat(world.router.counters.undispatched.sum()).isOne();
    }

    @Test
    void anExceptionInsideWithSelectionReleasesTheSlotAndIsTheOneSeen() {
      IllegalStateException mine = new IllegalStateException("mine");
      Future<Object> used = world.settled(world.handle().withSelection(held -> raise(mine)));
      assertThat(used.cause()).isSameAs(mine);
    }

    @Test
    void tenThousandSelectionsWhoseOwnersVanishLeaveZeroSlotsAfterTheTimeToLive() {
      RoutingWorld.Replica wide = world.published(world.local("wide", 10_000));
      for (int i = 0; i < 10_000; i++) {
        choose();
      }
      assertThat(world.router.counters.reserved()).isEqualTo(10_000);
      world.pass(TTL.minusMillis(50));
      assertThat(replica.ledger.reserved() + wide.ledger.reserved()).isEqualTo(10_000);
      world.pass(Duration.ofMillis(150));
      world.assertAtRest(replica, wide);
      assertThat(world.router.counters.selectionsExpired.sum()).isEqualTo(10_000);
    }

    @ParameterizedTest(name = "swept: {0}")
    @ValueSource(booleans = {true, false})
    void dispatchAfterTheLeaseRanOutIsRefusedAndWaitsForNoSweep(boolean swept) {
      ReplicaSelection selection = choose();
      if (swept) {
        world.pass(TTL.plusMillis(25));
      } else {
        world.clock.advance(TTL);
      }
      Future<Response> response = dispatch(selection);
      assertThat(response.cause()).isInstanceOf(BerthException.ReservationExpired.class);
      assertThat(replica.executions).isZero();
    }

    @Test
    void renewMakesTheLeaseLastItsWholeTimeFromNow() {
      ReplicaSelection selection = choose();
      world.pass(TTL.minusSeconds(1));
      assertThat(selection.renew().result()).isTrue();
      world.pass(TTL.minusSeconds(1));
      assertThat(selection.leaseRemaining()).isPositive();
      assertThat(replica.ledger.reserved()).isOne();
      world.pass(Duration.ofSeconds(2));
      assertThat(selection.renew().result()).isFalse();
    }

    @Test
    void renewNeverGoesPastTheDrainDeadline() {
      ReplicaSelection selection = choose();
      replica.ledger.drain(world.clock.getAsLong() + Duration.ofSeconds(12).toNanos());
      world.publish();
      world.pass(Duration.ofSeconds(9));
      assertThat(selection.renew().result()).isTrue();
      assertThat(selection.leaseRemaining()).isLessThanOrEqualTo(Duration.ofSeconds(3));
      world.pass(Duration.ofSeconds(4));
    }

    @Test
    void aHeldLeaseIsDispatchedToADrainingReplica() {
      ReplicaSelection selection = choose();
      replica.ledger.drain(world.clock.getAsLong() + Duration.ofSeconds(20).toNanos());
      world.publish();
      Future<Response> response = dispatch(selection);
      replica.finish();
      assertThat(body(response)).isEqualTo("r1");
    }

    @Test
    void dispatchToAReplicaThatIsGoneFailsAndReleases() {
      ReplicaSelection selection = choose();
      world.withdraw(replica);
      Future<Response> response = dispatch(selection);
      assertThat(response.cause()).isInstanceOf(BerthException.ReplicaUnavailable.class);
      assertThat(replica.executions).isZero();
    }

    @Test
    void aSecondDispatchFailsAndTheFirstGoesOn() {
      ReplicaSelection selection = choose();
      Future<Response> first = selection.dispatch(REQUEST);
      Future<Response> second = dispatch(selection);
      assertThat(second.cause())
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("already dispatched");
      replica.finish();
      assertThat(first.succeeded()).isTrue();
      assertThat(replica.executions).isOne();
    }

    @Test
    void aDispatchOfNothingFailsAndLeavesTheSelectionOpen() {
      ReplicaSelection selection = choose();
      assertThatThrownBy(() -> selection.dispatch(null))
          .isInstanceOf(NullPointerException.class)
          .hasMessage("request: null (expected: a request)");
      assertThat(selection.leaseRemaining()).isPositive();
      Future<Response> response = dispatch(selection);
      replica.finish();
      assertThat(response.succeeded()).isTrue();
    }

    @Test
    void aDispatchAfterCloseFails() {
      ReplicaSelection selection = choose();
      selection.close();
      assertThat(selection.dispatch(REQUEST).cause()).hasMessageContaining("closed");
    }

    @Test
    void closingAfterDispatchAndClosingTwiceDoNothing() {
      ReplicaSelection selection = choose();
      Future<Response> response = selection.dispatch(REQUEST);
      assertThat(world.settled(selection.close()).succeeded()).isTrue();
      assertThat(replica.ledger.running()).isOne();
      replica.finish();
      assertThat(selection.close().succeeded()).isTrue();
      assertThat(response.succeeded()).isTrue();
      assertThat(world.sent(ReleaseSlot.class)).isEmpty();
    }

    @Test
    void selectionsOneAfterAnotherReuseTheSlot() {
      for (int i = 1; i <= 5; i++) {
        Future<Response> response = dispatch(choose());
        replica.finish();
        assertThat(response.succeeded()).isTrue();
        assertThat(replica.executions).isEqualTo(i);
      }
    }

    @Test
    void theReservedGaugeGoesZeroOneZeroWithAndWithoutDispatch() {
      HandleCounters counters = world.router.counters;
      assertThat(counters.reserved()).isZero();
      ReplicaSelection dispatched = choose();
      assertThat(counters.reserved()).isOne();
      dispatched.dispatch(REQUEST);
      assertThat(counters.reserved()).isZero();
      world.run();
      replica.finish();
      ReplicaSelection closed = choose();
      assertThat(counters.reserved()).isOne();
      closed.close();
      assertThat(counters.reserved()).isZero();
    }

    @Test
    void chooseWaitsInTheSameQueueAsCalls() {
      Future<Response> running = world.settled(world.handle().call(REQUEST));
      Future<ReplicaSelection> first = world.handle().choose();
      Future<Response> second = world.settled(world.handle().call(REQUEST));
      assertThat(world.router.queued()).isEqualTo(2);
      replica.finish();
      assertThat(running.succeeded()).isTrue();
      assertThat(first.succeeded()).isTrue();
      assertThat(second.isComplete()).isFalse();
      world.settled(first.result().close());
      assertThat(replica.running).hasSize(1);
      replica.finish();
      assertThat(second.succeeded()).isTrue();
    }

    @Test
    void itsOwnerIsToldInPairsAndOnlyOfWhatWasSent() {
      FakeCaller closed = new FakeCaller();
      LeasedSelection selection = (LeasedSelection) choose();
      RoutedCall never = selection.newCall(world.routers.loop(0), REQUEST, closed);
      selection.close();
      never.cancel();
      assertThat(closed.told).containsExactly("failure CANCELLED");
      assertThat(RoutingProbe.over(world.router)).isZero();

      FakeCaller caller = new FakeCaller();
      selection = (LeasedSelection) choose();
      assertThat(selection.take()).isNull();
      selection.newCall(world.routers.loop(0), REQUEST, caller).dispatchTaken();
      world.run();
      replica.finish();
      selection.close();
      assertThat(caller.told).containsExactly("routed r1", "response of r1");
      assertThat(RoutingProbe.over(world.router)).isOne();
      assertThat(RoutingProbe.notOver(world.router)).isZero();
    }

    @Test
    void aReplicaThatCannotReserveIsSkippedByChooseAndServesCalls() {
      RoutingWorld.Replica plain = world.published(world.local("plain", 8, 0, false));
      ReplicaSelection selection = choose();
      assertThat(selection.replicaId()).isEqualTo("r1");
      Future<ReplicaSelection> waiting = world.settled(world.handle().choose());
      assertThat(waiting.isComplete()).isFalse();
      Future<Response> behind = world.settled(world.handle().call(REQUEST));
      assertThat(plain.running).as("a picky waiter blocks no one behind it").hasSize(1);
      plain.respond();
      world.settled(selection.close());
      assertThat(behind.succeeded()).isTrue();
      assertThat(waiting.result().replicaId()).isEqualTo("r1");
      waiting.result().close();
    }

    @Test
    void aSelectionShowsItsReplicaAndNeverItsToken() {
      ReplicaSelection selection = choose();
      assertThat(selection.replicaId()).isEqualTo("r1");
      assertThat(selection.nodeId()).isEqualTo(RoutingWorld.NODE);
      assertThat(selection.address()).isEmpty();
      assertThat(selection.port()).isEmpty();
      assertThat(selection.toString()).contains("r1").doesNotContainIgnoringCase("token");
      selection.close();
    }

    @Test
    void aTimeToLiveOfTheCallersIsKeptAsAskedHoweverShort() {
      ReplicaSelection selection =
          choose(world.handle().withReservationTtl(Duration.ofMillis(200)));
      assertThat(selection.leaseRemaining()).isEqualTo(Duration.ofMillis(200));
      world.pass(Duration.ofMillis(300));
      assertThat(world.router.counters.selectionsExpired.sum()).isOne();
    }

    @Test
    void aTimeToLiveOfTheCallersIsCutToTheMaximum() {
      ReplicaSelection selection = choose(world.handle().withReservationTtl(Duration.ofDays(1)));
      assertThat(selection.leaseRemaining()).isLessThanOrEqualTo(Duration.ofSeconds(300));
      selection.close();
    }
  }

  @Nested
  class Elsewhere {
    private final RoutingWorld.Replica replica = world.published(world.remote("far", 1));

    @Test
    void dispatchCarriesTheTokenAndIsNotAskedForAgain() {
      ReplicaSelection selection = choose();
      Future<Response> response = dispatch(selection);
      assertThat(world.sent(BusMessage.CallRequest.class))
          .singleElement()
          .satisfies(call -> assertThat(call.admission()).isInstanceOf(Admission.Token.class));
      replica.finish();
      assertThat(body(response)).isEqualTo("far");
      assertThat(world.sent(ReleaseSlot.class)).as("no release when all is well").isEmpty();
    }

    @Test
    void aRejectedReservationIsTriedElsewhere() {
      replica.ledger.tryAcquire(); // full, and this router does not know
      RoutingWorld.Replica other = world.published(world.remote("other", 1));
      for (int i = 0; i < 4; i++) {
        ReplicaSelection selection = choose();
        assertThat(selection.replicaId()).isEqualTo("other");
        world.settled(selection.close());
      }
      replica.ledger.complete();
    }

    @Test
    void anAnswerBringsTheReplicasOwnCount() {
      RoutingWorld.Replica wide = world.remote("wide", 10);
      world.withdraw(replica);
      IntStream.range(0, 4).forEach(i -> wide.ledger.tryAcquire());
      ReplicaSelection selection = choose();
      assertThat(remote().ongoing()).isEqualTo(5);
      world.settled(selection.close());
      assertThat(remote().ongoing()).as("after the release").isEqualTo(4);
      IntStream.range(0, 4).forEach(i -> wide.ledger.complete());
    }

    @Test
    void concurrentChoicesEachUpdateTheCount() {
      RoutingWorld.Replica wide = world.remote("wide", 10);
      world.withdraw(replica);
      List<Future<ReplicaSelection>> chosen =
          world.settled(Stream.generate(world.handle()::choose).limit(5).toList());
      assertThat(remote().ongoing()).isEqualTo(5);
      assertThat(wide.ledger.reserved()).isEqualTo(5);
      chosen.forEach(choice -> choice.result().close());
      world.run();
      assertThat(remote().ongoing()).isZero();
    }

    private ChooseOperation choosing(
        Consumer<ReplicaSelection> chosen, Consumer<BerthException> failed) {
      return RoutingProbe.choose(
          world.router, world.routers.loop(0), TTL.toNanos(), chosen, failed);
    }

    private RemoteReplica remote() {
      return RoutingProbe.remoteReplicas(world.router).get(0);
    }

    @Test
    void aLateAnswerToACancelledChooseIsReleasedAtOnce() {
      List<BerthException> failures = new ArrayList<>();
      choosing(RoutingProbe::unexpected, failures::add).cancel();
      world.run();
      assertThat(failures).singleElement().isInstanceOf(BerthException.Cancelled.class);
    }

    @Test
    void aReleaseThatOvertakesItsReserveStillWins() {
      choosing(chosen -> {}, failure -> {}).cancel();
      ReserveSlot reserve = (ReserveSlot) world.sent.get(0);
      ReleaseSlot release = (ReleaseSlot) world.sent.get(1);
      assertThat(release.attempt()).isEqualTo(reserve.attempt());
      replica.ledger.release(release.attempt()); // arrives first
      world.run();
      world.assertAtRest(replica);
      assertThat(replica.ledger.view("far", 0).granted()).isZero();
    }

    @Test
    void aDuplicatedGrantDoesNotReleaseTheLeaseInUse() {
      ReplicaSelection selection = choose();
      ReserveSlot reserve = world.sent(ReserveSlot.class).get(0);
      LeasedSelection held = (LeasedSelection) selection;
      replica.answer(
          reserve.source(),
          new BusMessage.SlotReserved(
              reserve.callId(), reserve.attempt(), reserve.target(), held.token, 10_000, 0, 1));
      world.run();
      assertThat(replica.ledger.reserved()).isOne();
      world.settled(selection.close());
    }

    @Test
    void anExpiredTokenIsATypedRefusalAndDoesNotRun() {
      ReplicaSelection selection = choose();
      world.clock.advance(TTL); // the router's ring has not ticked
      Future<Response> response = dispatch(selection);
      assertThat(response.cause()).isInstanceOf(BerthException.ReservationExpired.class);
      assertThat(replica.executions).isZero();
      world.pass(Duration.ofMillis(25));
    }

    @Test
    void aSendThatDidNotLeaveReleasesAndSaysReplicaUnavailable() {
      ReplicaSelection selection = choose();
      replica.unreachable = true;
      Future<Response> response = dispatch(selection);
      assertThat(response.cause()).isInstanceOf(BerthException.ReplicaUnavailable.class);
      world.repeated = 1;
      world.assertAtRest();
      world.repeated = 0;
      replica.unreachable = false;
      world.pass(TTL.plusMillis(50)); // there it runs out by itself
    }

    @Test
    void aFailingReleaseDoesNotLeakTheReservedGauge() {
      ReplicaSelection selection = choose();
      replica.failingSends = true;
      Future<Void> closed = world.settled(selection.close());
      assertThat(closed.failed()).isTrue();
      assertThat(world.router.counters.reserved()).isZero();
      replica.failingSends = false;
      world.pass(TTL.plusMillis(50));
    }

    @Test
    void aDispatchFailureIsNotMaskedByAFailingRelease() {
      RuntimeException mine = new RuntimeException("dispatch failed");
      replica.whenSent = message -> replica.failingSends = message instanceof ReleaseSlot;
      Future<Object> used =
          world.settled(world.handle().withSelection(held -> Future.failedFuture(mine)));
      assertThat(used.cause()).isSameAs(mine);
      assertThat(mine.getSuppressed()).hasSize(1);
      assertThat(world.router.counters.reserved()).isZero();
      replica.whenSent = message -> {};
      replica.failingSends = false;
      world.pass(TTL.plusMillis(50));
    }

    @Test
    void aDispatchCancelledBeforeItsTokenWasConsumedReleasesTheLease() {
      ReplicaSelection selection = choose();
      Pending<Response> call = selection.start(REQUEST);
      world.run(call::cancel);
      assertThat(call.future().cause()).isInstanceOf(BerthException.Cancelled.class);
      assertThat(world.sent(ReleaseSlot.class)).hasSize(1);
    }

    @Test
    void renewIsAskedOfTheReplica() {
      ReplicaSelection selection = choose();
      world.pass(Duration.ofSeconds(8));
      Future<Boolean> renewed = world.settled(selection.renew());
      assertThat(renewed.result()).isTrue();
      world.pass(Duration.ofSeconds(8));
      assertThat(replica.ledger.reserved()).isOne();
      world.settled(selection.close());
    }

    @Test
    void anOfferedSlotBecomesAWholeSelection() {
      replica.ledger.tryAcquire();
      world.publish();
      Future<ReplicaSelection> chosen = world.settled(world.handle().choose());
      assertThat(chosen.isComplete()).isFalse();
      replica.ledger.complete();
      world.settled(replica.offer(0, 1, Duration.ofMillis(250)));
      assertThat(chosen.result().leaseRemaining()).isGreaterThan(Duration.ofSeconds(9));
      world.settled(chosen.result().close());
    }
  }

  @Test
  void optionsOfAHandleDoNotChangeTheHandle() {
    UnaryOperator<CallOptions> shorter = options -> options.withTimeout(Duration.ofMillis(1));
    DeploymentHandle handle = world.handle();
    handle.options(shorter.apply(CallOptions.defaults()));
    Pending<Response> call = handle.start(REQUEST);
    world.pass(Duration.ofMillis(100));
    assertThat(call.future().isComplete()).isFalse();
    world.run(call::cancel);
  }
}
