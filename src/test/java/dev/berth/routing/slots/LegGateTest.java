package dev.berth.routing.slots;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;

class LegGateTest {
  private final InstanceQueueLimits bounds = new InstanceQueueLimits(3, 100, 100);
  private final GangGate gate = new GangGate(bounds);
  private final List<String> told = new ArrayList<>();
  private final One a = new One("a");
  private final One b = new One("b");
  private final One c = new One("c");

  private final class One implements GangGate.Collector {
    private final String name;
    private boolean paused;
    private boolean gone; // its loop takes no more tasks

    One(String name) {
      this.name = name;
    }

    @Override
    public boolean paused() {
      return paused;
    }

    @Override
    public void entered() {
      tell("entered");
    }

    @Override
    public void ousted() {
      tell("ousted");
    }

    private void tell(String what) {
      if (gone) {
        throw new RejectedExecutionException(name);
      }
      told.add(name + " " + what);
    }
  }

  private GangGate.GateEntryResult enter(One one) {
    return gate.enter(one, true, -1);
  }

  @Test
  void oneIsInsideAndTheOthersFollowInTheirOrder() {
    assertThat(enter(a)).isEqualTo(GangGate.GateEntryResult.HOLDING);
    assertThat(enter(b)).isEqualTo(GangGate.GateEntryResult.WAITING);
    assertThat(enter(c)).isEqualTo(GangGate.GateEntryResult.WAITING);
    assertThat(bounds.queued()).isEqualTo(2);
    gate.leave(a);
    gate.leave(a); // again is nothing
    assertThat(gate.isHeldBy(b)).isTrue();
    gate.leave(b);
    assertThat(told).containsExactly("b entered", "c entered");
    gate.leave(c);
    assertThat(bounds.queued()).isZero();
    assertThat(enter(a)).isEqualTo(GangGate.GateEntryResult.HOLDING);
  }

  @Test
  void whoLeavesThePlaceBeforeItIsNotToldItsTurn() {
    enter(a);
    enter(b);
    gate.leave(b);
    gate.leave(a);
    assertThat(told).isEmpty();
    assertThat(gate.size()).isZero();
    assertThat(bounds.queued()).isZero();
  }

  @Test
  void whoDoesNotWaitIsRefusedAndSoIsOneOverABound() {
    enter(a);
    assertThat(gate.enter(b, false, -1)).isEqualTo(GangGate.GateEntryResult.REFUSED);
    assertThat(gate.enter(c, true, 1)).isEqualTo(GangGate.GateEntryResult.WAITING);
    assertThat(gate.enter(new One("d"), true, 1)).isEqualTo(GangGate.GateEntryResult.REFUSED);
    assertThat(enter(new One("e"))).isEqualTo(GangGate.GateEntryResult.WAITING);
    assertThat(enter(new One("f"))).isEqualTo(GangGate.GateEntryResult.WAITING);
    assertThat(enter(new One("g")))
        .as("the instance's bound")
        .isEqualTo(GangGate.GateEntryResult.REFUSED);
  }

  @Test
  void aHolderOnABlockedLoopIsOustedOnceAnotherCanGoOn() {
    enter(a);
    a.paused = true;
    gate.loopsChanged();
    assertThat(gate.isHeldBy(a)).as("nobody else wants it").isTrue();
    assertThat(enter(b)).isEqualTo(GangGate.GateEntryResult.HOLDING);
    assertThat(told).containsExactly("a ousted");
    gate.leave(a); // of one that is outside: nothing
    assertThat(gate.isHeldBy(b)).isTrue();
  }

  @Test
  void aHolderWhoseLoopBlocksLosesItToTheFirstWhoCanGoOn() {
    enter(a);
    enter(b);
    enter(c);
    b.paused = true;
    a.paused = true;
    gate.loopsChanged();
    assertThat(told).containsExactly("a ousted", "c entered");
    b.paused = false;
    gate.loopsChanged();
    assertThat(gate.isHeldBy(c)).isTrue();
    gate.leave(c);
    assertThat(gate.isHeldBy(b)).isTrue();
  }

  @Test
  void whereOnlyPausedOnesWaitItIsTheirsWhenTheirLoopRunsAgain() {
    enter(a);
    enter(b);
    b.paused = true;
    gate.leave(a);
    assertThat(told).isEmpty();
    b.paused = false;
    gate.loopsChanged();
    assertThat(told).containsExactly("b entered");
  }

  @Test
  void aLoopThatTakesNoMoreTasksKeepsNobodyOut() {
    enter(a);
    enter(b);
    enter(c);
    b.gone = true;
    gate.leave(a);
    assertThat(gate.isHeldBy(c)).isTrue();
    assertThat(bounds.queued()).isZero();
  }
}
