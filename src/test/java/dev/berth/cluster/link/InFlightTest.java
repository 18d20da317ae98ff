package dev.berth.cluster.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.stream.CountingLimit;
import org.junit.jupiter.api.Test;

class InFlightTest {
  private final CountingLimit inFlight = new CountingLimit(256 << 10);

  @Test
  void frameOverTheCapIsTakenWhenNextToNothingElseIsOnItsWay() {
    assertThat(Link.tryTake(inFlight, 20, 0)).as("its time").isTrue();
    assertThat(Link.tryTake(inFlight, 1 << 20, 0)).as("else it would wait for ever").isTrue();
    assertThat(inFlight.inUse()).isGreaterThan(inFlight.most);
    assertThat(Link.tryTake(inFlight, 1, 0)).isFalse();
    inFlight.give((1 << 20) + 20);
    assertThat(inFlight.inUse()).isZero();
  }

  @Test
  void frameOverTheCapWaitsForOthers() {
    assertThat(Link.tryTake(inFlight, 100 << 10, 0)).isTrue();
    assertThat(Link.tryTake(inFlight, 1 << 20, 0)).isFalse();
    assertThat(Link.tryTake(inFlight, 100 << 10, 0)).isTrue();
    assertThat(inFlight.inUse()).isEqualTo(200 << 10);
  }
}
