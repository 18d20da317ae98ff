package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import dev.berth.fakes.LogLines;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.protocol.port.TickTimer;
import dev.berth.replica.MismatchedReplica;
import dev.berth.view.LedgerView;
import dev.berth.view.LedgerView.Audit;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class UpkeepVerticleTest {
  private static final int TICKS_PER_SECOND = 10;

  private final MismatchedReplica rig = new MismatchedReplica();
  private final LedgerMaintenanceVerticle upkeep =
      new LedgerMaintenanceVerticle(
          new TickTimer(PlaneBuilder.NO_TIMER, () -> 0), rig.host(), () -> true);

  @AutoClose
  private final LogLines lines = new LogLines(LedgerMaintenanceVerticle.class, Level.WARN);

  private void seconds(int seconds) {
    for (int tick = 0; tick < seconds * TICKS_PER_SECOND; tick++) {
      rig.advanceMillis(100);
      upkeep.tick();
    }
  }

  @Test
  void aNewReplicaIsAuditedWithTheNextTickAndThenEachSecond() {
    assertThat(rig.view().audit()).isEqualTo(Audit.PENDING);
    upkeep.tick();
    assertThat(rig.view().audit()).isEqualTo(Audit.CLEAN);
    seconds(5);
    assertThat(rig.view().lastAudit().ageNanos()).isLessThanOrEqualTo(1_000_000_000L);
    assertThat(lines.all()).isEmpty();
  }

  @Test
  void idleLedgersAreSweptOncePerSecondAlthoughHealthChecksAreDue() {
    AtomicLong now = new AtomicLong();
    AtomicReference<Runnable> armed = new AtomicReference<>();
    AtomicInteger sweeps = new AtomicInteger();
    TickTimer timer =
        new TickTimer(
            (delay, task) -> {
              armed.set(task);
              return () -> {};
            },
            now::get);
    LedgerMaintenanceVerticle idle =
        new LedgerMaintenanceVerticle(timer, rig.host(), () -> sweeps.incrementAndGet() < 0);
    idle.start();
    for (int tick = 0; tick < 10 * TICKS_PER_SECOND; tick++) {
      rig.advanceMillis(100);
      now.addAndGet(TimeUnit.MILLISECONDS.toNanos(100));
      idle.checks.need();
      armed.get().run();
    }
    assertThat(sweeps.get()).isBetween(9, 11);
  }

  @Test
  void readersDoNotAudit() {
    upkeep.tick();
    rig.loseASlot();
    seconds(1);
    for (int i = 0; i < 100; i++) {
      assertThat(rig.view().audit()).isEqualTo(Audit.BUSY);
    }
    seconds(1);
    assertThat(rig.view().audit()).isEqualTo(Audit.MISMATCH);
  }

  @Test
  void aMismatchIsLoggedOnceCountedOnceForEachFindingAndShown() {
    upkeep.tick();
    rig.loseASlot();
    seconds(10);

    assertThat(upkeep.mismatches).isEqualTo(1);
    assertThat(lines.all()).hasSize(1);
    assertThat(lines.all().get(0).getLevel()).isEqualTo(Level.ERROR);
    assertThat(lines.all().get(0).getFormattedMessage())
        .startsWith("replica " + rig.view().replicaId() + ": ledger mismatch: ");

    rig.loseASlot();
    seconds(10);

    LedgerView view = rig.view();
    assertThat(view.audit()).isEqualTo(Audit.MISMATCH);
    assertThat(view.lastAudit().difference()).isEqualTo(2);
    assertThat(view.lastAudit().findings()).isEqualTo(2);
    assertThat(upkeep.mismatches).isEqualTo(2);
    assertThat(lines.all()).as("lines for one replica").hasSize(1);
  }
}
