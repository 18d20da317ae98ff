package dev.berth.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class StopSignalsTest {

  private final List<Integer> halts = new ArrayList<>();
  private final StopSignals signals = new StopSignals(halts::add);

  @Test
  void theFirstSignalAsksToStop() {
    assertThat(signals.first().toCompletableFuture()).isNotDone();

    signals.onSignal("TERM", 15);

    assertThat(signals.first().toCompletableFuture()).isCompletedWithValue("SIGTERM");
    assertThat(halts).isEmpty();
  }

  @Test
  void theSecondSignalEndsTheProcessWithItsOwnCode() {
    signals.onSignal("TERM", 15);
    signals.onSignal("INT", 2);

    assertThat(halts).containsExactly(130);
    assertThat(signals.first().toCompletableFuture()).isCompletedWithValue("SIGTERM");
  }
}
