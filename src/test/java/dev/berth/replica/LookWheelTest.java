package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.Answering;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Which replicas are looked at, and when: seen by the health checks that start. */
class LookWheelTest {
  private static final Duration SHORTER = Duration.ofSeconds(9); // than any period by default
  private static final Duration LONGER = Duration.ofSeconds(12);

  private final ReplicaRig rig = new ReplicaRig();
  private final HealthCheckWheel wheel =
      new HealthCheckWheel(); // beside the host's, which never turns here

  private Replica replica() {
    return rig.start(
        1,
        new Answering("ok") {
          @Override
          public void checkHealth() {}
        });
  }

  private void turn() {
    wheel.turn(rig.clock.getAsLong());
  }

  private void turnAfter(Duration span) {
    rig.clock.advance(span);
    turn();
  }

  @Test
  void aReplicaThatWasNeverTouchedIsNotLookedAt() {
    replica();
    turnAfter(LONGER);
    assertThat(rig.health.size()).isZero();
    assertThat(wheel.looks.size()).isZero();
  }

  @Test
  void aTouchedReplicaIsLookedAtWhenItsTimeHasComeAndNotBefore() {
    wheel.touch(replica());
    turn();
    assertThat(rig.health.size()).as("it is too soon for a check").isZero();
    turnAfter(SHORTER.minusMillis(1));
    assertThat(rig.health.size()).isZero();
    turnAfter(LONGER.minus(SHORTER));
    assertThat(rig.health.size()).isEqualTo(1);
    rig.health.runAll();
    turnAfter(LONGER);
    assertThat(rig.health.size()).as("with nobody touching it again").isEqualTo(1);
  }

  @Test
  void noTickIsPlannedForAReplicaWithoutPeriodicHooks() {
    wheel.touch(rig.start(1, new Answering("ok")));
    turn();
    assertThat(wheel.looks.size()).isZero();
  }

  @Test
  void thousandsOfTouchesAndTurnsLeaveOnePlannedLookForEach() {
    List<Replica> replicas = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      replicas.add(replica());
    }
    for (int i = 0; i < 2_000; i++) {
      wheel.touch(replicas.get(i % 10));
      turn();
    }
    assertThat(wheel.looks.size()).isEqualTo(10);
  }

  @Test
  void aLookThatIsDueSoonerReplacesTheOneThatWasPlanned() {
    Replica replica = replica();
    wheel.touch(replica);
    turn();
    long second = TimeUnit.SECONDS.toNanos(1);
    replica.configure(1, ReplicaLimits.DEFAULTS, new HealthCheckSettings(second, second));
    wheel.touch(replica);
    turn();
    assertThat(wheel.looks.size()).as("the replaced one included").isEqualTo(2);

    turnAfter(Duration.ofMillis(1_101));

    assertThat(rig.health.size()).isEqualTo(1);
    rig.health.runAll();
    for (int turns = 0; turns < 15; turns++) {
      turnAfter(Duration.ofMillis(1_101));
      rig.health.runAll();
    }
    assertThat(wheel.looks.size()).as("the replaced one came to nothing").isEqualTo(1);
  }

  @Test
  void aReplicaThatStopsIsLookedAtNoMore() {
    Replica replica = replica();
    wheel.touch(replica);
    turn();
    assertThat(wheel.looks.size()).isEqualTo(1);
    rig.settled(replica.shutDown(Duration.ZERO));
    turnAfter(LONGER);
    assertThat(wheel.looks.size()).isZero();
    assertThat(rig.health.size()).isZero();
  }
}
