package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ReplicaPlacementTest {
  private final ReplicaPlacement placement = new ReplicaPlacement(3);

  @Test
  void replicasTakeTheLoopsInTurn() {
    assertThat(placement.place(false)).containsExactly(0);
    assertThat(placement.place(false)).containsExactly(1);
    assertThat(placement.place(false)).containsExactly(2);
    assertThat(placement.place(false)).containsExactly(0);
  }

  @Test
  void aSpreadReplicaTakesThemAllAndItsAddressIsOnTheNextInTurn() {
    placement.place(false);

    assertThat(placement.place(true)).containsExactly(1, 2, 0);
    assertThat(placement.place(true)).containsExactly(2, 0, 1);
  }
}
