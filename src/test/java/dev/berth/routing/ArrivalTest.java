package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/**
 * A request that arrives, interrupted by a completion at each moment it looks at the world: what
 * another thread may do at that moment, without the thread.
 */
class ArrivalTest {

  @Test
  void aSlotThatComesFreeAtAnyMomentOfAnArrivalGoesToIt() {
    int moment = 0;
    for (int moments = 1; moment < moments; moment++) {
      moments = completingAt(moment);
    }
    assertThat(moment).as("moments tried").isPositive();
  }

  /** Returns how many moments there were. */
  private static int completingAt(int moment) {
    OneReplicaWorld world = new OneReplicaWorld(2);
    world.call(0);
    int[] seen = {0};
    world.whenTheClockIsRead =
        () -> {
          if (seen[0]++ == moment) {
            world.completeSlot();
          }
        };

    world.call(1);

    world.whenTheClockIsRead = () -> {};
    assertThat(seen[0]).as("moments").isGreaterThan(moment);
    world.nobodyWaitsBesideAFreeSlot();
    world.respondFirst();
    world.finish();
    world.assertAtRest();
    assertThat(world.answered()).isEqualTo(2);
    return seen[0];
  }
}
