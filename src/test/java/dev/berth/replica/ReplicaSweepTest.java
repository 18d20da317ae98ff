package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.AsyncHandler;
import dev.berth.protocol.BusMessage.ReplicaLoad;
import dev.berth.protocol.LoadReport;
import dev.berth.replica.slots.Ledgers;
import dev.berth.view.LedgerView;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Many replicas are looked after in turns, and what must not wait for its turn does not. */
class ReplicaSweepTest {
  private static final int REPLICAS = 25;
  private static final int SHARES = 10;

  private final ReplicaRig rig = new ReplicaRig(ReplicaLimits.DEFAULTS, 2);
  private final List<Replica> replicas = new ArrayList<>();
  private final List<LedgerView> mismatches = new ArrayList<>();
  private int turn;

  ReplicaSweepTest() {
    for (int i = 0; i < REPLICAS; i++) {
      replicas.add(rig.start(4, (AsyncHandler) (request, context) -> Future.succeededFuture()));
    }
  }

  private void sweep() {
    rig.clock.advance(Duration.ofMillis(100));
    rig.host.sweep(turn++, SHARES, mismatches::add);
  }

  private List<LedgerView.Audit> verdicts() {
    return replicas.stream().map(each -> each.view().audit()).toList();
  }

  @Test
  void newReplicasAreAuditedAtOnceAndThenOncePerRound() {
    sweep();
    assertThat(verdicts()).containsOnly(LedgerView.Audit.CLEAN);
    for (int i = 0; i < SHARES; i++) {
      sweep();
    }
    assertThat(replicas)
        .allSatisfy(
            each ->
                assertThat(each.view().lastAudit().ageNanos())
                    .isLessThan(Duration.ofSeconds(1).toNanos()));
    assertThat(replicas.stream().map(each -> each.view().lastAudit().ageNanos()).distinct())
        .as("shares")
        .hasSize(SHARES);
  }

  @Test
  void aMismatchOfAnyOfThemIsFound() {
    sweep();
    replicas.forEach(each -> Ledgers.bendCounter(each.slots(), "granted", 1));
    for (int i = 0; i < 2 * SHARES; i++) {
      sweep();
    }
    assertThat(verdicts()).containsOnly(LedgerView.Audit.MISMATCH);
    assertThat(mismatches).hasSize(REPLICAS);
  }

  @Test
  void whatIsOldIsForgottenByEachInItsTurn() {
    replicas.forEach(each -> each.slots().release(rig.attempt()));
    rig.clock.advance(Duration.ofSeconds(10));
    for (int i = 0; i < SHARES; i++) {
      sweep();
    }
    rig.clock.advance(Duration.ofSeconds(10));
    for (int done = 1; done <= SHARES; done++) {
      sweep();
      for (int place = 0; place < REPLICAS; place++) {
        assertThat(replicas.get(place).slots().rememberedAttempts())
            .isEqualTo(place % SHARES < done ? 0 : 1);
      }
    }
  }

  /** While it lasts, since a message may be lost; and only who asked lately. */
  @Test
  void routersElsewhereAreToldThatALoopIsBlockedAndThatItRunsAgain() {
    rig.send(rig.away(replicas.get(3)));
    rig.bus.take();

    rig.host.loopBlocked(0, true);
    assertThat(told()).containsExactly("3 to n2: blocked");
    for (int i = 0; i < 2 * SHARES; i++) {
      sweep();
    }
    assertThat(told()).containsExactly("3 to n2: blocked", "3 to n2: blocked");
    rig.host.loopBlocked(0, false);
    assertThat(told()).containsExactly("3 to n2: runs");
    for (int i = 0; i < SHARES; i++) {
      sweep();
    }
    assertThat(told()).isEmpty();
  }

  /** By the other loop. */
  private List<String> told() {
    rig.tasks.runAll();
    return rig.bus.takeSent().stream()
        .map(
            sent -> {
              ReplicaLoad load = (ReplicaLoad) sent.message();
              return "%d to %s: %s"
                  .formatted(
                      load.target().ordinal(),
                      sent.node(),
                      LoadReport.isBlocked(load.load()) ? "blocked" : "runs");
            })
        .toList();
  }

  @Test
  void aLeaseEndsWhenItRunsOutWhoseverTurnItIs() {
    sweep();
    for (Replica each : replicas) {
      assertThat(each.slots().hold(Duration.ofMillis(50).toNanos())).isNotNull();
    }
    sweep();
    assertThat(replicas)
        .allSatisfy(
            each -> {
              assertThat(each.slots().reserved()).isZero();
              assertThat(each.slots().view("r", 0).expired()).isEqualTo(1);
            });
  }
}
