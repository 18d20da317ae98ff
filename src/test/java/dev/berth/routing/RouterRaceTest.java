package dev.berth.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.Contest;
import dev.berth.fakes.Effort;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Real routers of three event loops around one replica, met at the moments where a wake-up can be
 * lost: a request arrives on one loop while a slot comes free on another, and a third changes its
 * mind. In a round each contender is its loop; between rounds one thread runs what was left to do.
 */
@Tag("concurrency")
class RouterRaceTest {
  private static final int LOOPS = 3;

  private final OneReplicaWorld world = new OneReplicaWorld(LOOPS);

  @Test
  void aCancelThatMeetsItsGrantPassesTheSlotOn() {
    int rounds = Effort.times(20_000);
    Contest.run(
        LOOPS,
        rounds,
        120,
        new Contest.Round() {
          private RoutedCall waiting;

          @Override
          public void prepare(int round) {
            world.call(0);
            waiting = world.call(1);
          }

          @Override
          public void act(int contender, int round) {
            switch (contender) {
              case 0 -> world.completeSlot();
              case 1 -> waiting.cancel();
              default -> world.call(2);
            }
          }

          @Override
          public void check(int round) {
            world.nobodyWaitsBesideAFreeSlot();
            world.respondFirst();
            world.finish();
            world.assertAtRest();
          }
        });

    assertThat(world.answered()).isEqualTo(3 * rounds);
  }
}
