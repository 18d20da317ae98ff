package dev.berth.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.controller.ControllerEvent.Inventory;
import java.util.List;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;

class RecoveryTest {

  private static Inventory empty(String node) {
    return new Inventory(node, List.of(), List.of());
  }

  /** Found by the leak check of the cluster's simulation: a name of each process that had been. */
  @Test
  void namesOfLostNodesAreForgotten() {
    ControllerRecovery recovery = new ControllerRecovery();
    recovery.waitForAll();
    recovery.begin(List.of("n1"), 0);
    recovery.tell(empty("n1"), 0);
    for (int process = 0; process < 1_000; process++) {
      recovery.tell(empty("n2~" + process), 0);
      recovery.onNodeRemoved("n2~" + process, 0);
    }
    assertThat(recovery)
        .extracting("told")
        .asInstanceOf(InstanceOfAssertFactories.COLLECTION)
        .hasSize(1);
  }
}
