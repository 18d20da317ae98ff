package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.controller.Epoch;
import org.junit.jupiter.api.Test;

class EpochGateTest {
  private final EpochGate gate = new EpochGate();

  @Test
  void commandsOfAnOlderControllerAreRefusedAndThoseOfTheSameOrANewerOneTaken() {
    assertThat(gate.admits(new Epoch(0, 3, "n1"))).as("the first one known").isTrue();
    assertThat(gate.admits(new Epoch(0, 3, "n1"))).as("the same").isTrue();
    assertThat(gate.admits(new Epoch(0, 2, "n9"))).as("an older term").isFalse();
    assertThat(gate.admits(new Epoch(0, 5, "n2"))).as("a newer term").isTrue();
    assertThat(gate.admits(new Epoch(0, 3, "n1"))).as("the one it followed").isFalse();
    assertThat(gate.admits(new Epoch(0, 5, "n2"))).as("still the newest").isTrue();
    assertThat(gate.refused).isEqualTo(2);
  }

  @Test
  void ofTwoThatWereElectedAtOnceOneIsTakenWhicheverCameFirst() {
    assertThat(gate.admits(new Epoch(0, 3, "n1"))).isTrue();
    assertThat(gate.admits(new Epoch(0, 3, "n2"))).isTrue();
    assertThat(gate.admits(new Epoch(0, 3, "n1"))).isFalse();

    EpochGate other = new EpochGate();
    assertThat(other.admits(new Epoch(0, 3, "n2"))).isTrue();
    assertThat(other.admits(new Epoch(0, 3, "n1"))).isFalse();
  }

  @Test
  void aLaterGenerationIsNewerWhateverItsTerm() {
    Epoch before = new Epoch(0, 900, "n1");
    Epoch after = new Epoch(1, 1, "n1");

    assertThat(gate.admits(before)).isTrue();
    assertThat(gate.admits(after)).isTrue();
    assertThat(gate.admits(before)).isFalse();
    assertThat(after.number()).as("orders snapshots likewise").isGreaterThan(before.number());
    assertThat(before.number()).as("of an instance by itself").isEqualTo(900);
    assertThat(before).hasToString("term 900 of n1");
    assertThat(after).hasToString("generation 1, term 1 of n1");
  }
}
