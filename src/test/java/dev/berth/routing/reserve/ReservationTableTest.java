package dev.berth.routing.reserve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.port.HttpErrorResponse;
import dev.berth.protocol.port.Reservations.Reservation;
import dev.berth.protocol.port.Reservations.ReservationCall;
import dev.berth.protocol.port.Reservations.ReservationCaller;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.protocol.port.Reservations.ReservationRequest;
import dev.berth.replica.slots.Ledgers;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.SlotRequest;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Slots held by tokens: each way in and out, on one thread and a clock that stands still. */
class ReservationTableTest {
  private static final DeploymentId OTHER = new DeploymentId("app", "other");
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final Request REQUEST = Request.get("/");

  private final RoutingWorld world = new RoutingWorld(2, RoutingProbe.DEFAULTS);
  private final RoutingWorld.Replica replica = world.published(world.local("r", 1));
  private ReservationTable table = table(new ReservationLimits(10, 5, 100, 10, 5, 60 * SECOND));

  private ReservationTable table(ReservationLimits limits) {
    SplittableRandom random = new SplittableRandom(4);
    return new ReservationTable(world.routers, limits, world.clock, random::nextLong);
  }

  private static ReservationRequest wish(long ttlSeconds, long waitSeconds) {
    return new ReservationRequest(
        RoutingWorld.DEPLOYMENT, ttlSeconds * SECOND, waitSeconds * SECOND, "");
  }

  private static ReservationCaller caller(String name) {
    return new ReservationCaller(name, null);
  }

  private Future<Reservation> ask(ReservationRequest wish, ReservationCaller caller) {
    return world.settled(table.reserve(wish, caller).answer());
  }

  private Reservation reserve() {
    return reserve(10);
  }

  private Reservation reserve(long ttlSeconds) {
    return reserve(wish(ttlSeconds, 0), caller("c"));
  }

  private Reservation reserve(ReservationRequest wish, ReservationCaller caller) {
    Future<Reservation> answer = ask(wish, caller);
    assertThat(answer.succeeded()).as("reserved: %s", answer.cause()).isTrue();
    return answer.result();
  }

  private static @Nullable ReservationProblem problem(Future<?> answer) {
    return answer.cause() instanceof ReservationException refused ? refused.problem() : null;
  }

  private Future<Reservation> renew(String token) {
    return table.renew(RoutingWorld.DEPLOYMENT, token);
  }

  private Future<Void> release(String token) {
    return table.release(RoutingWorld.DEPLOYMENT, token);
  }

  private FakeCaller use(String token) {
    return use(token, 0);
  }

  private FakeCaller use(String token, int loop) {
    FakeCaller answer = caller(SlotRequest.NO_DEADLINE);
    use(token, loop, answer);
    world.run();
    return answer;
  }

  private FakeCaller caller(long deadlineNanos) {
    return new FakeCaller("id", world.clock.getAsLong(), deadlineNanos);
  }

  private @Nullable RoutedCall use(String token, int loop, FakeCaller answer) {
    return table.use(token, world.router, world.routers.loop(loop), REQUEST, answer);
  }

  private void refuses(String token, ReservationProblem problem) {
    assertThatThrownBy(() -> use(token))
        .isInstanceOfSatisfying(
            ReservationException.class,
            refused -> assertThat(refused.problem()).isEqualTo(problem));
  }

  private static void assertAtRest(RoutingWorld.Replica replica) {
    Ledgers.assertAtRest(replica.ledger);
  }

  /** Whatever a test did: what it left ends by itself, and then nothing is held or counted. */
  @AfterEach
  void everythingEndsByItself() {
    world.clock.advanceNanos(400 * SECOND);
    world.pass(Duration.ofMillis(50));
    table.sweep();
    world.clock.advanceNanos(400 * SECOND);
    table.sweep();
    assertThat(table.heldCount()).isZero();
    assertThat(table.permitsTaken()).isZero();
    assertThat(table.callers()).isZero();
    assertThat(table.keys()).isZero();
    assertThat(table.remembered()).isZero();
    assertThat(world.router.counters.reserved()).isZero();
  }

  /** Nothing ran, so that none of them is 500 or 502; to wait in vain is to find no slot. */
  @ParameterizedTest
  @EnumSource(BerthException.Kind.class)
  void whoReservesIsToldOfAFailureAsWhoSendsARequestIs(BerthException.Kind kind) {
    BerthException.Kind told =
        switch (kind) {
          case TIMEOUT -> BerthException.Kind.BACK_PRESSURE;
          case OUTCOME_UNKNOWN,
              HANDLER_FAILED,
              NO_SUCH_METHOD,
              PAYLOAD_TOO_LARGE,
              RESERVATION_EXPIRED ->
              BerthException.Kind.DEPLOYMENT_UNAVAILABLE;
          default -> kind;
        };
    ReservationProblem problem =
        PendingReservation.asProblem(world.router, kind.toException("why")).problem();
    assertThat(HttpErrorResponse.of(problem))
        .isEqualTo(
            kind == BerthException.Kind.COST_TOO_LARGE // the caller's own, not of a nested call
                ? HttpErrorResponse.of(ReservationProblem.MALFORMED)
                : HttpErrorResponse.of(told));
  }

  // --- one reservation ---

  @Test
  void aTokenRunsOneRequestOnTheSlotItHolds() {
    Reservation held = reserve();
    assertThat(held.replicaId()).isEqualTo("r");
    assertThat(held.nodeId()).isEqualTo(RoutingWorld.NODE);
    assertThat(held.expiresInNanos()).isEqualTo(10 * SECOND);
    assertThat(replica.ledger.ongoing()).isEqualTo(1);
    assertThat(table.heldCount()).isEqualTo(1);

    FakeCaller answer = use(held.token());

    assertThat(replica.ledger.ongoing()).as("no other slot").isEqualTo(1);
    assertThat(table.heldCount()).isZero();
    replica.finish();
    assertThat(answer.response).isNotNull();
    assertAtRest(replica);
    assertThat(table.counters.endedBy(ReservationProblem.ALREADY_USED)).isEqualTo(1);
    refuses(held.token(), ReservationProblem.ALREADY_USED);
  }

  @Test
  void aTokenMayBeUsedOnEachLoopWhicheverChose() {
    replica.ledger.setMaxOngoing(4);
    for (int i = 0; i < 4; i++) { // they are chosen on the loops in turn
      FakeCaller answer = use(reserve().token(), i / 2);
      assertThat(answer.failure).isNull();
    }
    assertThat(replica.running).extracting(call -> call.source().loop()).contains(0, 1);
    replica.finishAll();
    assertAtRest(replica);
  }

  @Test
  void aTokenThatNeverWasIsUnknown() {
    refuses("nothing", ReservationProblem.UNKNOWN_TOKEN);
    assertThat(problem(renew("nothing"))).isEqualTo(ReservationProblem.UNKNOWN_TOKEN);
    assertThat(problem(release("nothing"))).isEqualTo(ReservationProblem.UNKNOWN_TOKEN);
    assertThat(table.counters.refusedBy(ReservationProblem.UNKNOWN_TOKEN)).isEqualTo(3);
  }

  @Test
  void aTokenIsGoodForItsDeploymentAlone() {
    String token = reserve().token();
    DeploymentRouter other = world.routers.router(OTHER, RoutingProbe.DEFAULTS);

    assertThatThrownBy(
            () -> table.use(token, other, world.routers.loop(0), REQUEST, new FakeCaller()))
        .isInstanceOfSatisfying(
            ReservationException.class,
            refused ->
                assertThat(refused.problem()).isEqualTo(ReservationProblem.OTHER_DEPLOYMENT));
    assertThat(problem(table.renew(OTHER, token))).isEqualTo(ReservationProblem.OTHER_DEPLOYMENT);
    assertThat(problem(table.release(OTHER, token))).isEqualTo(ReservationProblem.OTHER_DEPLOYMENT);

    assertThat(table.heldCount()).as("and stays").isEqualTo(1);
    use(token);
    replica.respond();
  }

  @Test
  void anExpiredReservationFreesItsSlotAndSaysSo() {
    String token = reserve(1).token();
    world.pass(Duration.ofSeconds(1));
    assertThat(table.heldCount()).isZero();
    assertAtRest(replica);
    refuses(token, ReservationProblem.EXPIRED);
    assertThat(problem(renew(token))).isEqualTo(ReservationProblem.EXPIRED);
    assertThat(release(token).succeeded()).isTrue();
    assertThat(table.counters.endedBy(ReservationProblem.EXPIRED)).isEqualTo(1);
  }

  /** Neither the ring of its loop nor the sweep has seen the deadline yet. */
  @Test
  void aTokenIsOverAtItsDeadlineWhoeverLooksFirst() {
    String token = reserve(1).token();
    world.clock.advanceNanos(SECOND);
    refuses(token, ReservationProblem.EXPIRED);
    assertThat(table.heldCount()).isZero();
    assertAtRest(replica);

    String renewed = reserve(1).token();
    world.clock.advanceNanos(SECOND);
    assertThat(problem(renew(renewed))).isEqualTo(ReservationProblem.EXPIRED);
    assertThat(table.heldCount()).isZero();
    assertThat(table.counters.endedBy(ReservationProblem.EXPIRED)).isEqualTo(2);
  }

  @Test
  void theSweepEndsAReservationWhoseLoopIsBlocked() {
    String token = reserve(1).token();
    world.clock.advanceNanos(SECOND); // and no loop ticks
    table.sweep();
    assertThat(table.heldCount()).isZero();
    assertThat(world.router.counters.reserved()).isZero();
    assertAtRest(replica);
    refuses(token, ReservationProblem.EXPIRED);
  }

  @Test
  void aRenewedReservationLastsItsWholeTimeAgain() {
    String token = reserve(2).token();
    world.pass(Duration.ofMillis(1500));
    Future<Reservation> renewed = renew(token);
    assertThat(renewed.result().expiresInNanos()).isEqualTo(2 * SECOND);
    assertThat(renewed.result().token()).isEqualTo(token);
    world.pass(Duration.ofMillis(1500));
    assertThat(table.heldCount()).isEqualTo(1);
    world.pass(Duration.ofMillis(500));
    assertThat(table.heldCount()).isZero();
    assertAtRest(replica);
  }

  @Test
  void aReleasedReservationIsReleasedOnceAndSaysSo() {
    String token = reserve().token();
    assertThat(release(token).succeeded()).isTrue();
    assertThat(replica.ledger.ongoing()).as("at once").isZero();
    assertThat(release(token).succeeded()).isTrue();
    assertThat(table.counters.endedBy(ReservationProblem.RELEASED)).isEqualTo(1);
    refuses(token, ReservationProblem.RELEASED);
    assertThat(problem(renew(token))).isEqualTo(ReservationProblem.RELEASED);
    assertAtRest(replica);
  }

  /** While its request runs, and when that is over. */
  @Test
  void aReservationThatRanCanNeitherBeRenewedNorReleased() {
    String token = reserve().token();
    use(token);
    for (int look = 0; look < 2; look++) {
      assertThat(problem(renew(token))).isEqualTo(ReservationProblem.ALREADY_USED);
      assertThat(problem(release(token))).isEqualTo(ReservationProblem.ALREADY_USED);
      List.copyOf(replica.running).forEach(replica::respond);
    }
    assertThat(table.counters.endedBy(ReservationProblem.RELEASED)).isZero();
    assertThat(table.counters.refusedBy(ReservationProblem.ALREADY_USED)).isEqualTo(4);
    assertAtRest(replica);
  }

  @Test
  void anEndedTokenIsRememberedForAMinuteOrItsTimeToLive() {
    replica.ledger.setMaxOngoing(2);
    String brief = reserve(1).token();
    String lasting = reserve(100).token();
    release(brief);
    release(lasting);
    world.pass(Duration.ofSeconds(59));
    table.sweep();
    refuses(brief, ReservationProblem.RELEASED);
    world.pass(Duration.ofSeconds(1));
    table.sweep();
    refuses(brief, ReservationProblem.UNKNOWN_TOKEN);
    refuses(lasting, ReservationProblem.RELEASED);
  }

  @Test
  void ofEndedTokensTheOldestIsForgottenFirst() {
    table = table(new ReservationLimits(10, 10, 2, 10, 5, SECOND));
    List<String> tokens = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      tokens.add(reserve().token());
      release(tokens.get(i));
    }
    assertThat(table.remembered()).isEqualTo(2);
    refuses(tokens.get(0), ReservationProblem.UNKNOWN_TOKEN);
    tokens.subList(1, 3).forEach(token -> refuses(token, ReservationProblem.RELEASED));
  }

  @Test
  void tokensAreLongAndEachAnother() {
    replica.ledger.setMaxOngoing(5);
    Set<String> tokens = new HashSet<>();
    for (int i = 0; i < 5; i++) {
      Reservation held = reserve();
      tokens.add(held.token());
      assertThat(held.token()).matches("[A-Za-z0-9_-]{32}"); // 192 bits
      assertThat(held.toString()).doesNotContain(held.token());
    }
    assertThat(tokens).hasSize(5);
  }

  /** The lease goes by what is asked for, and by the deployment's own when nothing is. */
  @Test
  void withoutATimeToLiveTheDeploymentsOwnHolds() {
    replica.ledger.setMaxOngoing(2);
    assertThat(reserve(0).ttlNanos()).isEqualTo(10 * SECOND);
    assertThat(reserve(10_000).ttlNanos()).isEqualTo(300 * SECOND);
  }

  @Test
  void aRequestPastItsDeadlineLeavesTheReservation() {
    String token = reserve().token();
    FakeCaller late = caller(world.clock.getAsLong());
    assertThat(use(token, 0, late)).isNull();
    assertThat(late.failure).isInstanceOf(BerthException.Timeout.class);
    assertThat(table.heldCount()).isEqualTo(1);
    use(token);
    replica.respond();
  }

  @Test
  void aCancelledUseFreesItsSlotWhenTheHandlerSettles() {
    FakeCaller answer = new FakeCaller();
    RoutedCall call = world.settled(use(reserve().token(), 1, answer));
    world.run(call::cancel);
    assertThat(answer.failure).isInstanceOf(BerthException.Cancelled.class);
    assertAtRest(replica);
  }

  @Test
  void aReplicaThatIsGoneIsSaidToBe() {
    String token = reserve().token();
    world.withdraw(replica);
    refuses(token, ReservationProblem.REPLICA_GONE);
    refuses(token, ReservationProblem.REPLICA_GONE); // and not used
    assertThat(table.counters.endedBy(ReservationProblem.REPLICA_GONE)).isEqualTo(1);
    assertThat(table.counters.endedBy(ReservationProblem.ALREADY_USED)).isZero();
    assertThat(replica.ledger.ongoing()).isZero();
  }

  @Test
  void aDrainingReplicaServesWhatItHolds() {
    String token = reserve().token();
    replica.ledger.drain();
    world.publish();
    assertThat(use(token).failure).isNull();
    replica.finish();
    assertAtRest(replica);
  }

  @Test
  void anInstanceThatDrainsServesWhatItHoldsAndHoldsNoMore() {
    replica.ledger.setMaxOngoing(2);
    String token = reserve().token();
    table.drain();
    assertThat(problem(ask(wish(1, 0), caller("c")))).isEqualTo(ReservationProblem.UNAVAILABLE);
    assertThat(renew(token).succeeded()).isTrue();
    use(token);
    replica.respond();
  }

  @Test
  void whoWaitsIsToldOfADrainAtOnceAndGetsNothingAfterwards() {
    String token = reserve().token();
    Future<Reservation> waits = world.settled(ask(wish(1, 30), caller("c")));
    assertThat(world.router.queued()).isEqualTo(1);

    world.run(table::drain);
    assertThat(problem(waits)).isEqualTo(ReservationProblem.UNAVAILABLE);
    assertThat(world.router.queued()).isZero();

    use(token);
    replica.finish();
    assertThat(table.heldCount()).isZero();
    assertThat(table.permitsTaken()).isZero();
    assertAtRest(replica);
  }

  @Test
  void whatIsHeldWhenNobodyCanUseItAnyMoreIsGivenBack() {
    replica.ledger.setMaxOngoing(2);
    String token = reserve().token();
    table.drain();
    world.run(table::releaseAll);
    refuses(token, ReservationProblem.RELEASED);
    assertThat(table.permitsTaken()).isZero();
    assertAtRest(replica);
  }

  // --- none ---

  @Test
  void aDeploymentThatIsNotThereIsUnknown() {
    assertThat(problem(ask(new ReservationRequest(OTHER, 0, 0, ""), caller("c"))))
        .isEqualTo(ReservationProblem.UNKNOWN_DEPLOYMENT);
  }

  @Test
  void withoutAFreeSlotOneThatDoesNotWaitIsRefusedAtOnce() {
    reserve();
    Future<Reservation> refused = ask(wish(1, 0), caller("c"));
    assertThat(problem(refused)).isEqualTo(ReservationProblem.FULL);
    assertThat(table.counters.refusedBy(ReservationProblem.FULL)).isOne();
    assertThat(((ReservationException) refused.cause()).retryAfterSeconds()).isPositive();
    assertThat(((ReservationException) refused.cause()).statusCode()).isEqualTo(503);
    assertThat(world.router.queued()).isZero();
    assertThat(table.permitsTaken()).isEqualTo(1);
    assertThat(replica.ledger.ongoing()).isEqualTo(1);
  }

  @Test
  void oneThatDoesNotWaitDoesNotOvertakeWhoDoes() {
    String first = reserve().token();
    Future<Reservation> waiting = ask(wish(1, 30), caller("c"));
    Future<Reservation> second = ask(wish(1, 30), caller("d"));
    assertThat(waiting.isComplete()).isFalse();
    release(first);
    assertThat(problem(ask(wish(1, 0), caller("e")))).isEqualTo(ReservationProblem.FULL);
    world.run();
    assertThat(waiting.succeeded()).isTrue();
    assertThat(second.isComplete()).isFalse();
  }

  @Test
  void aWaitEndsInTime() {
    reserve();
    Future<Reservation> waiting = ask(wish(1, 2), caller("c"));
    world.pass(Duration.ofMillis(1900));
    assertThat(waiting.isComplete()).isFalse();
    world.pass(Duration.ofMillis(200));
    assertThat(problem(waiting)).isEqualTo(ReservationProblem.FULL);
    assertThat(world.router.queued()).isZero();
    assertThat(table.permitsTaken()).isEqualTo(1);
  }

  @Test
  void whoGoesWhileItWaitsLeavesTheQueue() {
    String first = reserve().token();
    ReservationCall<Reservation> waiting = world.settled(table.reserve(wish(1, 30), caller("c")));
    assertThat(world.router.queued()).isEqualTo(1);
    waiting.abandon();
    world.run(waiting::abandon);
    assertThat(world.router.queued()).isZero();
    assertThat(table.permitsTaken()).isEqualTo(1);
    assertThat(problem(waiting.answer())).isEqualTo(ReservationProblem.ABANDONED);
    release(first);
    assertAtRest(replica);
  }

  @Test
  void whoGoesAsItsSlotIsGrantedHoldsNothing() {
    String first = reserve().token();
    ReservationCall<Reservation> waiting = world.settled(table.reserve(wish(1, 30), caller("c")));
    release(first); // the grant is on its way
    world.run(waiting::abandon);
    assertAtRest(replica);
    assertThat(table.heldCount()).isZero();
  }

  @Test
  void whoDoesNotReceiveItsAnswerHoldsNothing() {
    ReservationCall<Reservation> asked = world.settled(table.reserve(wish(1, 0), caller("c")));
    String token = asked.answer().result().token();
    asked.abandon();
    assertAtRest(replica);
    assertThat(table.heldCount()).isZero();
    refuses(token, ReservationProblem.RELEASED);
  }

  /** Its loop is blocked: no deadline fires there, and no task runs. */
  @Test
  void anAskThatItsLoopDoesNotAnswerIsGivenUp() {
    String first = reserve().token();
    Future<Reservation> waiting = ask(wish(1, 1), caller("c"));
    world.clock.advanceNanos(4 * SECOND);
    table.sweep();
    assertThat(problem(waiting)).isEqualTo(ReservationProblem.FULL);
    release(first);
    world.run(); // what was granted meanwhile goes back
    assertAtRest(replica);
  }

  // --- bounds ---

  @Test
  void nobodyHoldsOrWaitsForMoreThanItsShare() {
    replica.ledger.setMaxOngoing(4);
    for (int i = 0; i < 4; i++) {
      reserve(wish(10, 0), caller("greedy"));
    }
    table.reserve(wish(10, 10), caller("greedy"));
    world.run();
    assertThat(table.permitsTaken()).isEqualTo(5);
    assertThat(problem(ask(wish(10, 0), caller("greedy"))))
        .isEqualTo(ReservationProblem.CALLER_LIMIT);
    assertThat(problem(ask(wish(10, 0), caller("modest")))).isEqualTo(ReservationProblem.FULL);
    assertThat(replica.ledger.ongoing()).isEqualTo(4);
  }

  @Test
  void whatWasUsedDoesNotCountForItsCaller() {
    replica.ledger.setMaxOngoing(20);
    for (int i = 0; i < 20; i++) {
      use(reserve().token());
    }
    assertThat(table.permitsTaken()).isZero();
    replica.finishAll();
  }

  @Test
  void allCallersTogetherHoldNoMoreThanTheInstanceAllows() {
    replica.ledger.setMaxOngoing(20);
    for (int i = 0; i < 10; i++) {
      reserve(wish(10, 0), caller("c" + i));
    }
    assertThat(problem(ask(wish(10, 0), caller("late"))))
        .isEqualTo(ReservationProblem.INSTANCE_LIMIT);
    assertThat(table.callers()).isEqualTo(10);
    world.pass(Duration.ofSeconds(10));
    reserve(wish(10, 0), caller("late"));
  }

  // --- keys ---

  @Nested
  class WithAnIdempotencyKey {
    private final ReservationCaller keyed = new ReservationCaller("c", "k");

    @Test
    void aRepeatGetsTheSameLeaseWithTheTimeThatIsLeft() {
      replica.ledger.setMaxOngoing(2);
      Reservation first = reserve(wish(10, 0), keyed);
      world.pass(Duration.ofSeconds(1));
      Reservation again = reserve(wish(10, 0), keyed);
      assertThat(again.token()).isEqualTo(first.token());
      assertThat(again.expiresInNanos()).isEqualTo(9 * SECOND);
      assertThat(replica.ledger.ongoing()).isEqualTo(1);
      assertThat(table.counters.made.sum()).isEqualTo(1);
    }

    @Test
    void aRepeatThatComesWhileTheFirstWaitsGetsTheSameLease() {
      String before = reserve().token();
      ReservationCall<Reservation> first = table.reserve(wish(10, 30), keyed);
      ReservationCall<Reservation> second = world.settled(table.reserve(wish(10, 30), keyed));
      assertThat(world.router.queued()).isEqualTo(1);
      first.abandon(); // its connection is gone: that is why it repeats
      world.run();
      assertThat(world.router.queued()).as("for the second").isEqualTo(1);
      release(before);
      world.run();
      assertThat(second.answer().result().token()).isEqualTo(first.answer().result().token());
    }

    @Test
    void aLeaseWhoseAnswerWasLostIsThereForTheRepeat() {
      ReservationCall<Reservation> first = world.settled(table.reserve(wish(10, 0), keyed));
      first.abandon();
      assertThat(reserve(wish(10, 0), keyed).token()).isEqualTo(first.answer().result().token());
    }

    @Test
    void anotherWishUnderTheKeyIsRefused() {
      replica.ledger.setMaxOngoing(2);
      reserve(wish(10, 0), keyed);
      assertThat(problem(ask(wish(11, 0), keyed))).isEqualTo(ReservationProblem.KEY_REUSED);
      world.routers.router(OTHER, RoutingProbe.DEFAULTS);
      assertThat(problem(ask(new ReservationRequest(OTHER, 10 * SECOND, 0, ""), keyed)))
          .isEqualTo(ReservationProblem.KEY_REUSED);
      assertThat(table.heldCount()).isEqualTo(1);
    }

    @Test
    void anotherCallersKeyIsAnotherKey() {
      replica.ledger.setMaxOngoing(2);
      String one = reserve(wish(10, 0), keyed).token();
      String other = reserve(wish(10, 0), new ReservationCaller("d", "k")).token();
      assertThat(other).isNotEqualTo(one);
    }

    @Test
    void aRepeatIsToldHowTheLeaseEnded() {
      replica.ledger.setMaxOngoing(3);
      use(reserve(wish(1, 0), new ReservationCaller("c", "used")).token());
      reserve(wish(1, 0), new ReservationCaller("c", "expired"));
      release(reserve(wish(1, 0), new ReservationCaller("c", "released")).token());
      world.pass(Duration.ofSeconds(2));
      assertThat(problem(ask(wish(1, 0), new ReservationCaller("c", "used"))))
          .isEqualTo(ReservationProblem.ALREADY_USED);
      assertThat(problem(ask(wish(1, 0), new ReservationCaller("c", "expired"))))
          .isEqualTo(ReservationProblem.EXPIRED);
      assertThat(problem(ask(wish(1, 0), new ReservationCaller("c", "released"))))
          .isEqualTo(ReservationProblem.RELEASED);
      assertThat(table.counters.made.sum()).isEqualTo(3);
      replica.respond();
    }

    @Test
    void aRefusalIsNotRemembered() {
      String before = reserve().token();
      assertThat(problem(ask(wish(10, 0), keyed))).isEqualTo(ReservationProblem.FULL);
      release(before);
      reserve(wish(10, 0), keyed);
    }

    @Test
    void keysAreBoundedPerCallerAndInTime() {
      replica.ledger.setMaxOngoing(10);
      for (int i = 0; i < 6; i++) {
        String token = reserve(wish(10, 0), new ReservationCaller("c", "k" + i)).token();
        release(token);
      }
      assertThat(table.keys()).isEqualTo(5);
      assertThat(table.keysForgotten()).isEqualTo(1);
      assertThat(problem(ask(wish(10, 0), new ReservationCaller("c", "k5"))))
          .isEqualTo(ReservationProblem.RELEASED);
      reserve(wish(10, 0), new ReservationCaller("c", "k0")); // forgotten: asked anew
      world.pass(Duration.ofSeconds(60));
      table.sweep();
      assertThat(table.keys()).isZero();
    }

    @Test
    void keysAreBoundedInAllAtTheCostOfWhoHasMost() {
      replica.ledger.setMaxOngoing(20);
      for (int i = 0; i < 5; i++) {
        use(reserve(wish(10, 0), new ReservationCaller("most", "k" + i)).token());
        use(reserve(wish(10, 0), new ReservationCaller("more", "k" + i)).token());
      }
      use(reserve(wish(10, 0), new ReservationCaller("one", "k")).token());
      assertThat(table.keys()).isEqualTo(10);
      assertThat(problem(ask(wish(10, 0), new ReservationCaller("one", "k"))))
          .isEqualTo(ReservationProblem.ALREADY_USED);
    }
  }

  // --- elsewhere ---

  @Nested
  class AtAReplicaElsewhere {
    private final RoutingWorld.Replica far = world.remote("far", 1);

    private String reserveThere() {
      world.withdraw(replica);
      return reserve(2).token();
    }

    @Test
    void aTokenRunsItsRequestThere() {
      String token = reserveThere();
      FakeCaller answer = use(token, 1);
      assertThat(far.running).hasSize(1);
      assertThat(far.ledger.ongoing()).isEqualTo(1);
      far.finish();
      assertThat(answer.response).isNotNull();
      assertAtRest(far);
      assertThat(RoutingProbe.heldAttempts(world.routers.loop(0))).isZero();
      assertThat(RoutingProbe.heldAttempts(world.routers.loop(1))).isZero();
      refuses(token, ReservationProblem.ALREADY_USED);
    }

    @Test
    void itIsRenewedAndReleasedThere() {
      String token = reserveThere();
      world.pass(Duration.ofMillis(1500));
      Future<Reservation> renewed = world.settled(renew(token));
      assertThat(renewed.succeeded()).isTrue();
      world.pass(Duration.ofMillis(1000));
      assertThat(table.heldCount()).isEqualTo(1);
      release(token);
      world.run();
      assertAtRest(far);
    }

    @Test
    void whatItDoesNotHonourAnyMoreIsToldAsSuch() {
      String token = reserveThere();
      BusMessage.ReserveSlot reserve = world.sent(BusMessage.ReserveSlot.class).get(0);
      far.ledger.release(reserve.attempt()); // by its operator, say
      FakeCaller answer = new FakeCaller();
      RoutedCall call = world.settled(use(token, 0, answer));
      assertThat(answer.failure).isInstanceOf(BerthException.ReservationExpired.class);
      assertThat(call.reservationProblem()).isEqualTo(ReservationProblem.RELEASED);
      assertAtRest(far);
    }

    @Test
    void oneThatDoesNotWaitIsRefusedWhenItIsFull() {
      reserveThere();
      assertThat(problem(ask(wish(1, 0), caller("c")))).isEqualTo(ReservationProblem.FULL);
      assertThat(far.ledger.ongoing()).isEqualTo(1);
    }

    @Test
    void oneThatHasNoAnswerIsRefusedInTimeAndReleasedThere() {
      world.withdraw(replica);
      far.silent = true;
      Future<Reservation> asked = ask(wish(1, 0), caller("c"));
      world.pass(Duration.ofSeconds(2));
      assertThat(problem(asked)).isEqualTo(ReservationProblem.FULL);
      assertThat(world.sent(BusMessage.ReleaseSlot.class).stream().distinct()).hasSize(1);
    }
  }
}
