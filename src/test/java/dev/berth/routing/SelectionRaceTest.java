package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.BerthException;
import dev.berth.api.Pending;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.fakes.Contest;
import dev.berth.fakes.Effort;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A selection that is dispatched, dispatched again, closed and expired at the same time: one of
 * them ends it, the gauge of reserved slots goes 0, 1, 0, and its one slot comes back once.
 */
@Tag("concurrency")
class SelectionRaceTest {
  private static final long TTL = Duration.ofSeconds(10).toNanos();
  private static final int CONTENDERS = 3;

  /** Of so many rounds a few are decided beforehand, so that each end is seen on any machine. */
  private static final int KINDS = 16;

  private static final int RUNS = 0;
  private static final int RUNS_OUT = 1;
  private static final int CLOSED = 2;

  private final Thread loopThread = Thread.currentThread();
  private final OneReplicaWorld world =
      new OneReplicaWorld(1, loop -> Thread.currentThread() == loopThread);
  private final HandleCounters counters = world.router.counters;

  /** Rounds that ended this way. */
  private int ran;

  private int ranOut;
  private int closedFirst;

  private ReplicaSelection choose() {
    ReplicaSelection[] chosen = new ReplicaSelection[1];
    RoutingProbe.choose(
        world.router,
        world.loop(0),
        TTL,
        selection -> chosen[0] = selection,
        RoutingProbe::unexpected);
    return chosen[0];
  }

  @Test
  void ofDispatchCloseAndExpiryExactlyOneEndsASelection() {
    race(
        (contender, round, selection, calls) -> {
          switch (contender) {
            case 0 -> {
              // In some rounds in vain: what was dispatched in time runs when the round is over.
              world.clock.advanceNanos(round % 4 == RUNS ? 0 : TTL);
              world.loop(0).tick();
              world.ledger.sweep();
            }
            case 1 -> calls[0] = selection.start(Request.get("/"));
            default -> selection.close();
          }
        });

    assertThat(ran).as("rounds in which the request ran").isPositive();
    assertThat(ranOut).as("rounds in which the lease ran out first").isPositive();
    assertThat(closedFirst).as("rounds in which it was closed first").isPositive();
  }

  @Test
  void ofTwoDispatchesAndACloseExactlyOneEndsASelection() {
    race(
        (contender, round, selection, calls) -> {
          switch (contender) {
            case 0 -> calls[0] = selection.start(Request.get("/"));
            case 1 -> calls[1] = selection.start(Request.get("/"));
            default -> selection.close();
          }
        });

    assertThat(ran).as("rounds in which the request ran").isPositive();
    assertThat(closedFirst).as("rounds in which it was closed first").isPositive();
  }

  private interface Act {
    void on(int contender, int round, ReplicaSelection selection, @Nullable Pending<?>[] calls);
  }

  private void race(Act act) {
    Contest.run(
        CONTENDERS,
        Effort.times(20_000),
        60,
        new Contest.Round() {
          private ReplicaSelection selection;
          private @Nullable Pending<?>[] calls;
          private long grantedBefore;

          @Override
          public void prepare(int round) {
            grantedBefore = world.ledger.view("r", 0).granted();
            selection = choose();
            calls = new Pending<?>[2];
            assertThat(counters.reserved()).isEqualTo(1);
            if (round % KINDS == RUNS_OUT) {
              world.clock.advanceNanos(TTL);
              world.loop(0).tick();
              world.ledger.sweep();
            } else if (round % KINDS == CLOSED) {
              selection.close();
            }
          }

          @Override
          public void act(int contender, int round) {
            int kind = round % KINDS;
            if (contender == 2 && (kind == RUNS || kind == RUNS_OUT)) {
              return; // no one closes it
            }
            act.on(contender, round, selection, calls);
          }

          @Override
          public void check(int round) {
            world.runTasks();
            assertThat(world.running()).as("requests sent").isLessThanOrEqualTo(1);
            ran += world.running();
            world.finish();
            judge();
            assertThat(counters.unselected.sum())
                .as("ends of selections")
                .isEqualTo(counters.selected.sum());
            assertThat(world.ledger.view("r", 0).granted() - grantedBefore).isEqualTo(1);
            world.assertAtRest();
          }

          private void judge() {
            for (Pending<?> call : calls) {
              if (call != null) {
                assertThat(call.future().isComplete()).as("answered").isTrue();
                Throwable failure = call.future().cause();
                ranOut += failure instanceof BerthException.ReservationExpired ? 1 : 0;
                closedFirst += failure != null && failure.getMessage().contains("closed") ? 1 : 0;
              }
            }
          }
        });
    // Exact, where the gauge itself is clamped at 0.
    assertThat(counters.unselected.sum()).as("ends").isEqualTo(counters.selected.sum());
    assertThat(counters.selected.sum()).isEqualTo(Effort.times(20_000));
    assertThat(counters.dispatched.sum() + counters.undispatched.sum())
        .isEqualTo(counters.selected.sum());
    assertThat(counters.ended.sum()).as("requests over").isEqualTo(counters.sent.sum());
    assertThat(counters.sent.sum()).as("requests sent").isEqualTo(ran);
  }
}
