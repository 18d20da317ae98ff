package dev.berth.cluster.link;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class InFlightTest {
  private final InFlightBytes inFlight = new InFlightBytes(256 << 10);

  @Test
  void frameOverTheCapIsTakenWhenNextToNothingElseIsOnItsWay() {
    assertThat(inFlight.tryAdd(20, 0)).as("its time").isTrue();
    assertThat(inFlight.tryAdd(1 << 20, 0)).as("else it would wait for ever").isTrue();
    assertThat(inFlight.full()).isTrue();
    assertThat(inFlight.tryAdd(1, 0)).isFalse();
    inFlight.done((1 << 20) + 20);
    assertThat(inFlight.bytes()).isZero();
  }

  @Test
  void frameOverTheCapWaitsForOthers() {
    assertThat(inFlight.tryAdd(100 << 10, 0)).isTrue();
    assertThat(inFlight.tryAdd(1 << 20, 0)).isFalse();
    assertThat(inFlight.tryAdd(100 << 10, 0)).isTrue();
    assertThat(inFlight.bytes()).isEqualTo(200 << 10);
  }
}
