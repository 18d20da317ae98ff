package dev.berth.routing.reserve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.port.Reservations.Reservation;
import dev.berth.protocol.port.Reservations.ReservationCall;
import dev.berth.protocol.port.Reservations.ReservationCaller;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.protocol.port.Reservations.ReservationRequest;
import dev.berth.routing.RoutingProbe;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Slots of several deployments held by tokens: all or none. */
class ReservationsTogetherTest {
  private static final DeploymentId A = new DeploymentId("app", "a");
  private static final DeploymentId B = new DeploymentId("app", "b");
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final ReservationCaller CALLER = new ReservationCaller("c", null);

  private final RoutingWorld world = new RoutingWorld(2, RoutingProbe.DEFAULTS);
  private final RoutingWorld.Replica a = world.local(A, "a1", 2);
  private final RoutingWorld.Replica b = world.local(B, "b1", 1);
  private final ReservationTable table =
      new ReservationTable(
          world.routers,
          new ReservationLimits(10, 5, 100, 10, 5, 60 * SECOND),
          world.clock,
          new SplittableRandom(4)::nextLong);

  ReservationsTogetherTest() {
    world.publish();
  }

  private static ReservationRequest wish(DeploymentId deployment) {
    return new ReservationRequest(deployment, 10 * SECOND, 0, "");
  }

  private Future<List<Reservation>> ask(
      long waitSeconds, ReservationCaller caller, DeploymentId... deployments) {
    Future<List<Reservation>> answer =
        world.settled(start(waitSeconds, caller, deployments).answer());
    return answer;
  }

  private ReservationCall<List<Reservation>> start(
      long waitSeconds, ReservationCaller caller, DeploymentId... deployments) {
    List<ReservationRequest> wishes =
        List.of(deployments).stream().map(ReservationsTogetherTest::wish).toList();
    return table.reserveAll(wishes, waitSeconds * SECOND, caller);
  }

  private static void assertRefused(Future<?> answer, ReservationProblem problem, String message) {
    assertThat(answer.cause())
        .isInstanceOfSatisfying(
            ReservationException.class,
            refused -> assertThat(refused.problem()).isEqualTo(problem));
    assertThat(answer.cause()).hasMessageContaining(message);
  }

  private void release(Future<List<Reservation>> answer) {
    for (Reservation each : answer.result()) {
      assertThat(table.release(each.deployment(), each.token()).succeeded()).isTrue();
    }
    world.run();
  }

  @AfterEach
  void nothingIsLeft() {
    world.run();
    world.assertAtRest(a, b);
    assertThat(table.heldCount()).isZero();
    assertThat(table.permitsTaken()).isZero();
    assertThat(table.callers()).isZero();
  }

  @Test
  void eachLegHasATokenOfItsOwnInTheOrderAskedFor() {
    Future<List<Reservation>> held = ask(0, CALLER, B, A, A);
    assertThat(held.result()).extracting(Reservation::deployment).containsExactly(B, A, A);
    assertThat(held.result()).extracting(Reservation::token).doesNotHaveDuplicates();
    assertThat(held.result())
        .allSatisfy(each -> assertThat(each.expiresInNanos()).isEqualTo(10 * SECOND));
    assertThat(table.permitsTaken()).isEqualTo(3);
    release(held);
  }

  @Test
  void eachIsRenewedAndReleasedByItself() {
    Future<List<Reservation>> held = ask(0, CALLER, A, B);
    world.pass(Duration.ofSeconds(6));
    Reservation first = held.result().get(0);
    assertThat(table.renew(A, first.token()).succeeded()).isTrue();
    world.pass(Duration.ofSeconds(6));
    assertThat(a.ledger.reserved()).isOne();
    assertThat(b.ledger.reserved()).as("it ran out").isZero();
    table.release(A, first.token());
  }

  @Test
  void whereOneIsFullNoneIsHeldAndItSaysWhich() {
    Future<List<Reservation>> busy = ask(0, CALLER, B);
    assertRefused(ask(0, CALLER, A, B), ReservationProblem.FULL, "legs[1]: ");
    assertThat(a.ledger.ongoing()).isZero();
    assertThat(table.permitsTaken()).isOne();
    release(busy);
  }

  @Test
  void anUnknownDeploymentReservesNothing() {
    assertRefused(
        ask(0, CALLER, A, new DeploymentId("app", "none")),
        ReservationProblem.UNKNOWN_DEPLOYMENT,
        "legs[1]: deployment: app#none");
    assertThat(a.ledger.view("a", 0).granted()).isZero();
  }

  @Test
  void eachLegCountsForItsCaller() {
    Future<List<Reservation>> held = ask(0, CALLER, A, A, B);
    assertRefused(
        ask(0, CALLER, A, B, A), ReservationProblem.CALLER_LIMIT, "max_held_per_caller: 5");
    assertThat(table.permitsTaken()).isEqualTo(3);
    release(held);
  }

  @Test
  void theWaitEndsInTimeAndLeavesNothing() {
    Future<List<Reservation>> busy = ask(0, CALLER, B);
    Future<List<Reservation>> waiting = ask(2, CALLER, A, B);
    world.pass(Duration.ofMillis(1_900));
    assertThat(a.ledger.reserved()).isOne();
    world.pass(Duration.ofMillis(150));
    assertRefused(waiting, ReservationProblem.FULL, "wait_timeout_s");
    assertThat(a.ledger.ongoing()).isZero();
    release(busy);
  }

  @Test
  void aCallerThatGoesWhileItWaitsHoldsNothing() {
    Future<List<Reservation>> busy = ask(0, CALLER, B);
    ReservationCall<List<Reservation>> waiting = world.settled(start(30, CALLER, A, B));
    assertThat(a.ledger.reserved()).isOne();
    world.run(waiting::abandon);
    assertThat(a.ledger.ongoing()).isZero();
    assertThat(waiting.answer().failed()).isTrue();
    release(busy);
  }

  @Test
  void aCallerThatDoesNotReceiveItsAnswerHoldsNothing() {
    ReservationCall<List<Reservation>> asked = world.settled(start(0, CALLER, A, B));
    world.run(asked::abandon);
    assertThat(a.ledger.ongoing() + b.ledger.ongoing()).isZero();
  }

  @Test
  void aRepeatUnderAKeyGetsTheSameTokensAndAnotherWishIsRefused() {
    ReservationCaller keyed = new ReservationCaller("c", "key");
    Future<List<Reservation>> first = ask(0, keyed, A, B);
    Future<List<Reservation>> repeat = ask(0, keyed, A, B);
    assertThat(repeat.result())
        .extracting(Reservation::token)
        .containsExactlyElementsOf(first.result().stream().map(Reservation::token).toList());
    assertRefused(ask(0, keyed, B, A), ReservationProblem.KEY_REUSED, "key");
    assertRefused(ask(1, keyed, A, B), ReservationProblem.KEY_REUSED, "key");
    release(first);
    assertRefused(ask(0, keyed, A, B), ReservationProblem.RELEASED, "");
  }
}
