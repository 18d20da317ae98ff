package dev.berth.routing.reserve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.RoutingWorld;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.AskReservation;
import dev.berth.protocol.BusMessage.CallRefused;
import dev.berth.protocol.BusMessage.ReleaseSlot;
import dev.berth.protocol.BusMessage.SlotReserved;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.Refusal;
import dev.berth.protocol.port.Reservations.Reservation;
import dev.berth.protocol.port.Reservations.ReservationCaller;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.protocol.port.Reservations.ReservationRequest;
import dev.berth.routing.LeasedSelection;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.SlotRequest;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a reservation is worth at another instance than its own. Both have the same routers here,
 * and ask each other as two instances do.
 */
class KeepersTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final DeploymentId MODEL = RoutingWorld.DEPLOYMENT;

  private final RoutingWorld world = new RoutingWorld(1, RoutingProbe.DEFAULTS);
  private final ReservationTable other = table();
  private final ReservationTable keeper = table(); // who is asked
  private RoutingWorld.Replica replica = world.published(world.local("r", 1));

  private ReservationTable table() {
    SplittableRandom random = new SplittableRandom(4);
    ReservationTable table =
        new ReservationTable(
            world.routers,
            new ReservationLimits(10, 5, 100, 10, 5, 60 * SECOND),
            world.clock,
            random::nextLong);
    table.among(new ReservationOwners(() -> "7.k", mark -> mark.equals("7.k") ? "keeper" : null));
    return table;
  }

  /** The only replica is at a third instance. */
  private void elsewhere() {
    world.remove(replica);
    replica = world.published(world.remote("far", 1));
  }

  private String reserved() {
    ReservationRequest wish = new ReservationRequest(MODEL, 10 * SECOND, 0, "");
    Future<Reservation> made =
        world.settled(keeper.reserve(wish, new ReservationCaller("c", null)).answer());
    return made.result().token();
  }

  private FakeCaller caller(long withinNanos) {
    long now = world.clock.getAsLong();
    return new FakeCaller(
        "id", now, withinNanos == 0 ? SlotRequest.NO_DEADLINE : now + withinNanos);
  }

  private Future<LeasedSelection> fetch(String token, FakeCaller caller) {
    String asked = other.keeperOf(token);
    assertThat(asked).isEqualTo("keeper");
    return world.settled(other.fetch(asked, token, world.router, world.routers.loop(0), caller));
  }

  private static @Nullable ReservationProblem problem(Future<?> answer) {
    return answer.cause() instanceof ReservationException refused ? refused.problem() : null;
  }

  private void runsOn(Future<LeasedSelection> fetched) {
    LeasedSelection slot = fetched.result();
    FakeCaller caller = caller(0);
    assertThat(slot.take()).isNull();
    world.run(() -> slot.newCall(world.routers.loop(0), Request.get("/"), caller).dispatchTaken());
    assertThat(replica.ledger.running()).isOne();
    replica.finish();
    world.run();
    assertThat(replica.executions).isOne();
    assertThat(caller.failure).isNull();
  }

  @AfterEach
  void nothingIsLeft() {
    world.pass(Duration.ofMillis(50)); // the ring drops what was cancelled
    assertThat(keeper.heldCount()).isZero();
    assertThat(keeper.permitsTaken()).isZero();
    world.assertAllAtRest();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aRequestElsewhereRunsOnTheSlotAndNoSecondOneDoes(boolean here) {
    if (!here) {
      elsewhere();
    }
    String token = reserved();
    runsOn(fetch(token, caller(0)));
    assertThat(problem(fetch(token, caller(0)))).isEqualTo(ReservationProblem.ALREADY_USED);
    assertThat(world.sent.toString()).as("what a log would have").doesNotContain(token);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anAnswerThatIsLostIsAskedForAgainAndIsTheSame(boolean here) {
    if (!here) {
      elsewhere();
    }
    String token = reserved();
    world.betweenRouters =
        message -> message instanceof SlotReserved || world.toRouter(message); // lost
    Future<LeasedSelection> fetched = fetch(token, caller(0));
    world.pass(Duration.ofSeconds(2));
    assertThat(fetched.isComplete()).isFalse();
    world.betweenRouters = message -> world.toRouter(message) && world.toRouter(message); // twice
    world.pass(Duration.ofMillis(1_100));
    assertThat(world.sent(AskReservation.class).stream().map(AskReservation::attempt))
        .hasSizeGreaterThan(2)
        .containsOnly(world.sent(AskReservation.class).get(0).attempt());
    assertThat(world.sent(SlotReserved.class).stream().map(SlotReserved::token))
        .hasSizeGreaterThan(2)
        .containsOnly(world.sent(SlotReserved.class).get(0).token());
    runsOn(fetched);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSlotThatIsToldTooLateOrIsNotUsedIsGivenBack(boolean here) {
    if (!here) {
      elsewhere();
    }
    fetch(reserved(), caller(0)).result().close();
    world.run();
    assertThat(replica.ledger.ongoing()).isZero();

    String token = reserved();
    BusMessage[] late = new BusMessage[1];
    world.betweenRouters =
        message -> {
          late[0] = message instanceof SlotReserved ? message : late[0];
          return message instanceof SlotReserved || world.toRouter(message);
        };
    Future<LeasedSelection> fetched = fetch(token, caller(SECOND / 2));
    world.pass(Duration.ofSeconds(1));
    assertThat(fetched.failed()).isTrue();
    assertThat(replica.ledger.reserved()).isOne();
    world.toRouter(late[0]);
    world.run();
    assertThat(replica.ledger.ongoing()).isZero();
  }

  @Test
  void aReplicaThatIsNotKnownHereYetHasItsSlotBack() {
    String token = reserved();
    world.remove(replica);
    world.betweenRouters =
        message -> {
          if (message instanceof SlotReserved) {
            world.publish();
          }
          return world.toRouter(message);
        };
    assertThat(problem(fetch(token, caller(0)))).isEqualTo(ReservationProblem.REPLICA_GONE);
    assertThat(world.sent(ReleaseSlot.class)).hasSize(1);
    replica.ledger.release(world.sent(ReleaseSlot.class).get(0).attempt());
  }

  @Test
  void aKeeperThatIsNotReachedMayBeAskedAgain() {
    String token = reserved();
    world.betweenRouters = message -> false;
    assertThat(problem(fetch(token, caller(0)))).isEqualTo(ReservationProblem.KEEPER_UNREACHED);
    world.betweenRouters =
        message ->
            world.toRouter(
                message instanceof AskReservation ask // its link was never open
                    ? new CallRefused(ask.callId(), Refusal.TOO_LATE, LoadReport.NONE)
                    : message);
    assertThat(problem(fetch(token, caller(0)))).isEqualTo(ReservationProblem.KEEPER_UNREACHED);
    world.betweenRouters = world::toRouter;
    runsOn(fetch(token, caller(0)));
  }

  @Test
  void whoMayHaveHeardIsAskedUntilItIsLost() {
    String token = reserved();
    world.betweenRouters = message -> true;
    Future<LeasedSelection> fetched = fetch(token, caller(0));
    world.betweenRouters = message -> false;
    world.run(() -> world.routers.linkBroken("keeper", 0));
    world.pass(Duration.ofSeconds(5));
    assertThat(fetched.isComplete()).isFalse();
    world.run(() -> world.routers.nodeLost("keeper"));
    assertThat(problem(fetched)).isEqualTo(ReservationProblem.KEEPER_LOST);
    assertThatThrownBy(() -> other.keeperOf(token.replace("7.k", "6.k")))
        .isInstanceOf(ReservationException.class)
        .hasMessageContaining("lost");
    assertThat(other.keeperOf("no-node-in-it")).isNull();
    keeper.releaseAll();
  }

  @Test
  void itIsRenewedAndReleasedElsewhere() {
    String token = reserved();
    world.pass(Duration.ofSeconds(8));
    Reservation renewed = world.settled(other.renew(MODEL, token)).result();
    assertThat(renewed.expiresInNanos()).isEqualTo(10 * SECOND);
    assertThat(renewed.replicaId()).isEqualTo("r");
    world.pass(Duration.ofSeconds(8));
    DeploymentId wrong = new DeploymentId("app", "other");
    assertThat(problem(world.settled(other.renew(wrong, token))))
        .isEqualTo(ReservationProblem.OTHER_DEPLOYMENT);
    for (int time = 0; time < 2; time++) {
      assertThat(world.settled(other.release(MODEL, token)).succeeded()).isTrue();
    }
    assertThat(replica.ledger.ongoing()).isZero();
    assertThat(problem(fetch(token, caller(0)))).isEqualTo(ReservationProblem.RELEASED);
    world.betweenRouters = message -> true;
    Future<Void> unheard = world.settled(other.release(MODEL, token));
    world.pass(Duration.ofSeconds(6));
    assertThat(problem(unheard)).isEqualTo(ReservationProblem.KEEPER_UNREACHED);
  }

  /** Their names have one hash. */
  @Test
  void tokenNamesItsDeploymentExactly() {
    for (String name : new String[] {"Aa", "BB"}) {
      DeploymentId each = new DeploymentId("app", name);
      world.published(world.local(each, name, 1));
      String token =
          world
              .settled(
                  keeper
                      .reserve(
                          new ReservationRequest(each, 10 * SECOND, 0, ""),
                          new ReservationCaller("c", null))
                      .answer())
              .result()
              .token();
      assertThat(other.deploymentOf(token)).isEqualTo(each);
      assertThat(other.deploymentOf(token.replaceFirst("\\..*\\.7", ".Y.7"))).isNull();
    }
    keeper.releaseAll();
  }

  @Test
  void answerToARepeatSaysWhatIsLeftByThen() {
    elsewhere();
    String token = reserved();
    world.betweenRouters = message -> message instanceof SlotReserved || world.toRouter(message);
    Future<LeasedSelection> fetched = fetch(token, caller(0));
    world.pass(Duration.ofMillis(1_050));
    long[] left =
        world.sent(SlotReserved.class).stream().mapToLong(SlotReserved::ttlMicros).toArray();
    assertThat(left).hasSize(2);
    assertThat(left[0] - left[1]).isBetween(950_000L, 1_100_000L);
    world.betweenRouters = world::toRouter;
    world.pass(Duration.ofSeconds(1));
    fetched.result().close();
    world.run();
  }

  @Test
  void questionOutlivesOneOfItsRepeatsThatNeverLeft() {
    String token = reserved();
    world.betweenRouters = message -> true; // taken, and on its way
    Future<LeasedSelection> fetched = fetch(token, caller(0));
    world.pass(Duration.ofMillis(1_050)); // and a second time
    AskReservation ask = world.sent(AskReservation.class).get(1);
    world.toRouter(new CallRefused(ask.callId(), Refusal.TOO_LATE, LoadReport.NONE));
    world.run();
    assertThat(fetched.isComplete()).as("the first may have come there").isFalse();
    world.betweenRouters = world::toRouter;
    world.pass(Duration.ofSeconds(1));
    runsOn(fetched);
  }

  @Test
  void aTokenSaysWhoseItIs() {
    String token = reserved();
    assertThat(token).matches("[A-Za-z0-9_-]{32}\\.[A-Za-z0-9_-]+\\.7\\.k");
    assertThat(other.deploymentOf(token)).isEqualTo(MODEL);
    assertThat(other.deploymentOf("unknown")).isNull();
    keeper.releaseAll();
  }
}
