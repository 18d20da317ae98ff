package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Request;
import dev.berth.fakes.Contest;
import dev.berth.fakes.Effort;
import dev.berth.fakes.FakeCaller;
import dev.berth.protocol.port.Reservations.Reservation;
import dev.berth.protocol.port.Reservations.ReservationCall;
import dev.berth.protocol.port.Reservations.ReservationCaller;
import dev.berth.protocol.port.Reservations.ReservationException;
import dev.berth.protocol.port.Reservations.ReservationProblem;
import dev.berth.protocol.port.Reservations.ReservationRequest;
import dev.berth.routing.reserve.ReservationCounters;
import dev.berth.routing.reserve.ReservationLimits;
import dev.berth.routing.reserve.ReservationTable;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * One token used on two loops, released and expired at the same time: exactly one of them ends it,
 * its slot comes back once, and its caller's permit with it.
 */
@Tag("concurrency")
class ReservationRaceTest {
  private static final long TTL = TimeUnit.SECONDS.toNanos(10);
  private static final int CONTENDERS = 4;
  private static final int RELEASER = 2;
  private static final int CLOCK = 3;

  private final ThreadLocal<Integer> loopHere = ThreadLocal.withInitial(() -> -1);

  // All that is left to loops is left until the round is over: a loop may be busy for that long.
  private final OneReplicaWorld world = new OneReplicaWorld(2, loop -> loop == loopHere.get());
  private final SplittableRandom secrets = new SplittableRandom(5);
  private final ReservationTable table =
      new ReservationTable(
          world.routers,
          new ReservationLimits(1, 1, 4, 1, 1, 1),
          world.clock,
          () -> {
            synchronized (secrets) {
              return secrets.nextLong();
            }
          });
  private final AtomicInteger ran = new AtomicInteger();
  private final AtomicInteger refused = new AtomicInteger();

  private final class Counted extends FakeCaller {
    @Override
    protected void ended() {
      if (failure != null) {
        throw new AssertionError(failure);
      }
      ran.incrementAndGet();
    }
  }

  private void use(String token, int loop) {
    loopHere.set(loop);
    try {
      table.use(token, world.router, world.loop(loop), Request.get("/"), new Counted());
    } catch (ReservationException no) {
      refused.incrementAndGet();
    } finally {
      loopHere.set(-1);
    }
  }

  @Test
  void ofTwoUsesAReleaseAndTheDeadlineExactlyOneEndsAReservation() {
    int rounds = Effort.times(10_000);
    Contest.run(
        CONTENDERS,
        rounds,
        60,
        new Contest.Round() {
          private String token = "";
          private int ranBefore;

          @Override
          public void prepare(int round) {
            ranBefore = ran.get();
            ReservationCall<Reservation> asked =
                table.reserve(
                    new ReservationRequest(world.router.deployment(), TTL, 0, ""),
                    new ReservationCaller("c", null));
            world.runTasks();
            token = asked.answer().result().token(); // its permit was there: the last came back
          }

          @Override
          public void act(int contender, int round) {
            switch (contender) {
              case RELEASER -> {
                if (round % 2 == 0) {
                  table.release(world.router.deployment(), token);
                }
              }
              case CLOCK -> {
                if (round % 3 == 0) {
                  world.clock.advanceNanos(TTL);
                }
                table.sweep();
                world.ledger.sweep();
              }
              default -> use(token, contender);
            }
          }

          @Override
          public void check(int round) {
            world.finish();
            assertThat(ran.get() - ranBefore).as("requests that ran").isLessThanOrEqualTo(1);
            assertThat(table.heldCount()).isZero();
            assertThat(table.permitsTaken()).isZero();
            world.assertAtRest();
          }
        });
    ReservationCounters counters = table.counters;
    assertThat(counters.made.sum()).isEqualTo(rounds);
    assertThat(counters.endedBy(ReservationProblem.ALREADY_USED)).isEqualTo(ran.get()).isPositive();
    assertThat(
            counters.endedBy(ReservationProblem.ALREADY_USED)
                + counters.endedBy(ReservationProblem.RELEASED)
                + counters.endedBy(ReservationProblem.EXPIRED))
        .isEqualTo(rounds);
    assertThat(counters.endedBy(ReservationProblem.RELEASED))
        .as("rounds in which it was released first")
        .isPositive();
    assertThat(counters.endedBy(ReservationProblem.EXPIRED))
        .as("rounds in which it ran out first")
        .isPositive();
    assertThat(refused.get()).isEqualTo(2 * rounds - ran.get());
    HandleCounters handle = world.router.counters;
    assertThat(handle.unselected.sum()).isEqualTo(handle.selected.sum()).isEqualTo(rounds);
  }
}
