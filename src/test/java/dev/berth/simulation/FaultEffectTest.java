package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A fault counts as covered when something came of it. */
class FaultEffectTest {
  private static final ReplicaAddress REPLICA = new ReplicaAddress("n2", 0, 0, 1);

  private final World world = new World(7);
  private final Coverage coverage = new Coverage();
  private final SimulatedBus bus = new SimulatedBus(world, coverage);
  private final SimulatedLoop from = new SimulatedLoop(world, "n1", 0);
  private final SimulatedLoop to = new SimulatedLoop(world, "n2", 0);
  private final List<String> met = new ArrayList<>();

  private void send(int messages, FaultRates rates) {
    bus.consume("r", to, message -> {});
    bus.rates(rates);
    for (int i = 0; i < messages; i++) {
      bus.from(from)
          .send(
              "n2",
              "r",
              new BusMessage.ReleaseSlot(
                  -1, new RouterAddress("n1", 0), new AttemptId(1, 0, i), REPLICA));
    }
  }

  private boolean covers(Fault fault) {
    return !coverage.missing().contains(fault + " x " + Phase.RELEASE);
  }

  @Test
  void aStallCountsWhenATaskWaitsForItsEnd() {
    to.stall(1_000_000, () -> met.add("stall"));
    world.after(500_000, "event", () -> to.execute(() -> {}));
    assertThat(met).isEmpty();
    world.runAll();
    assertThat(met).containsExactly("stall");
  }

  @Test
  void aStallInWhichNothingCameDoesNot() {
    to.stall(1_000_000, () -> met.add("stall"));
    world.after(2_000_000, "event", () -> to.execute(() -> {}));
    world.runAll();
    assertThat(met).isEmpty();
  }

  @Test
  void aStallWithinALongerOneDoesNot() {
    to.stall(1_000_000, () -> met.add("long"));
    to.stall(500_000, () -> met.add("short"));
    to.execute(() -> {});
    world.runAll();
    assertThat(met).containsExactly("long");
  }

  @Test
  void whatIsToBeReorderedCountsWhenALaterOneOvertookIt() {
    FaultRates reordered = new FaultRates(0, 0, 1, 0, 0);
    send(1, reordered);
    world.runAll();
    assertThat(covers(Fault.REORDER)).as("a message alone").isFalse();

    send(50, reordered);
    world.runAll();

    assertThat(covers(Fault.REORDER)).isTrue();
  }

  @Test
  void whatComesLateOrTwiceToALoopThatDiedDoesNot() {
    FaultRates lateAndTwice = new FaultRates(0, 1, 0, 1, 0);
    send(1, lateAndTwice);
    assertThat(covers(Fault.DELAY)).as("still on its way").isFalse();
    to.halt();
    world.runAll();
    assertThat(covers(Fault.DELAY)).as("its loop died").isFalse();
    assertThat(covers(Fault.DUPLICATE)).as("its loop died").isFalse();
  }

  @Test
  void whatComesLateAndTwiceToALoopThatLivesCounts() {
    send(1, new FaultRates(0, 1, 0, 1, 0));
    world.runAll();
    assertThat(covers(Fault.DELAY)).isTrue();
    assertThat(covers(Fault.DUPLICATE)).isTrue();
  }
}
