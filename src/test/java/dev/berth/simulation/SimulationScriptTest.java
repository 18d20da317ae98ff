package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.BusMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Cases of the router's simulation that seeds found, without the seed's luck. */
@Tag("simulation")
class SimulationScriptTest {
  /** Longer than a stream waits for credit. */
  private static final long LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(2_270);

  /** 91400226: a head that was late by 2.27 s; its replica cut the stream after 1 s. */
  @Test
  void streamIsCutWhileItsHeadIsLongInFlight() {
    List<Simulation> runs = new ArrayList<>();
    for (long seed = 1; seed <= 3; seed++) {
      Simulation.run(
          seed,
          simulation -> {
            runs.add(simulation);
            simulation.streamsAreLong = true;
            simulation.bus.script(
                message ->
                    message instanceof BusMessage.StreamFrame
                            || message instanceof BusMessage.CallResponse answer
                                && answer.streamed()
                        ? LATE_NANOS
                        : 0);
          });
    }
    assertThat(runs.stream().mapToInt(each -> each.invariants.cutBeforeHead).sum()).isPositive();
  }
}
