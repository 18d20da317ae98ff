package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.LoadReport;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RouterAddress;
import dev.berth.protocol.port.SendResult;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The simulated world itself does what a run relies on. */
class WorldTest {
  private static final ReplicaAddress REPLICA = new ReplicaAddress("n2", 0, 0, 1);
  private static final int MESSAGES = 500;

  private final World world = new World(7);
  private final List<String> seen = new ArrayList<>();

  @Test
  void eventsRunInOrderOfTheirTime() {
    for (int delay : new int[] {30, 10, 20}) {
      world.after(delay, "event", () -> seen.add(delay + " at " + world.elapsedNanos()));
    }
    world.runAll();
    assertThat(seen).containsExactly("10 at 10", "20 at 20", "30 at 30");
  }

  @Test
  void eventsOfOneTimeRunInAnOrderThatTheSeedDraws() {
    List<List<Integer>> orders =
        LongStream.range(0, 20)
            .mapToObj(
                seed -> {
                  World each = new World(seed);
                  List<Integer> order = new ArrayList<>();
                  for (int i = 0; i < 3; i++) {
                    int number = i;
                    each.after(5, "event", () -> order.add(number));
                  }
                  each.runAll();
                  return order;
                })
            .distinct()
            .toList();
    assertThat(orders).hasSizeGreaterThan(3);
  }

  @Test
  void aLoopRunsItsTasksInTheOrderTheyCameAndNeverOnTheCallersStack() {
    SimulatedLoop loop = new SimulatedLoop(world, "n1", 0);
    loop.execute(
        () -> {
          loop.execute(() -> seen.add("third"));
          seen.add("first");
        });
    loop.execute(() -> seen.add("second"));
    assertThat(seen).isEmpty();
    world.runAll();
    assertThat(seen).containsExactly("first", "second", "third");
  }

  @Test
  void aStalledLoopRunsNothingUntilItsStallIsOver() {
    SimulatedLoop loop = new SimulatedLoop(world, "n1", 0);
    loop.execute(() -> seen.add("late"));
    loop.stall(1_000_000);
    while (world.nextNanos() < 1_000_000) {
      world.step();
    }
    assertThat(seen).isEmpty();
    world.runAll();
    assertThat(seen).containsExactly("late");
  }

  @Test
  void withinAnInstanceEveryMessageArrivesOnceAndInOrderWhateverTheRates() {
    Coverage coverage = new Coverage();
    SimulatedBus bus = new SimulatedBus(world, coverage);
    bus.rates(new FaultRates(1, 1, 1, 1, 1));
    assertThat(arrivals(bus, "n2")).isEqualTo(expected());
  }

  @Test
  void betweenInstancesACalmNetworkKeepsTheOrderToo() {
    SimulatedBus bus = new SimulatedBus(world, new Coverage());
    assertThat(arrivals(bus, "n1")).isEqualTo(expected());
  }

  @Test
  void betweenInstancesMessagesAreLostDoubledAndOvertakenAtTheirRates() {
    SimulatedBus bus = new SimulatedBus(world, new Coverage());
    bus.rates(new FaultRates(0.2, 0.2, 0.2, 0.2, 0.2));
    List<Long> arrived = arrivals(bus, "n1");
    assertThat(arrived.stream().distinct().count()).isBetween(200L, 400L);
    assertThat(arrived).hasSizeGreaterThan((int) arrived.stream().distinct().count());
    assertThat(arrived).isNotEqualTo(arrived.stream().sorted().toList());
  }

  private List<Long> arrivals(SimulatedBus bus, String from) {
    SimulatedLoop sender = new SimulatedLoop(world, from, 0);
    SimulatedLoop receiver = new SimulatedLoop(world, "n2", 0);
    List<Long> arrived = new ArrayList<>();
    bus.consume(
        REPLICA.busAddress(),
        receiver,
        message -> arrived.add(((BusMessage.ReleaseSlot) message).attempt().counter()));
    for (int i = 0; i < MESSAGES; i++) {
      AttemptId attempt = new AttemptId(1, 0, i);
      bus.from(sender)
          .send(
              "n2",
              REPLICA.busAddress(),
              new BusMessage.ReleaseSlot(-1, new RouterAddress(from, 0), attempt, REPLICA));
    }
    world.runAll();
    return arrived;
  }

  private static List<Long> expected() {
    return IntStream.range(0, MESSAGES).mapToObj(i -> (long) i).toList();
  }

  @Test
  void anAddressThatNobodyConsumesRefusesTheMessage() {
    SimulatedBus bus = new SimulatedBus(world, new Coverage());
    SimulatedLoop sender = new SimulatedLoop(world, "n1", 0);
    assertThat(
            bus.from(sender)
                .send(
                    "n9",
                    "berth.replica.n9.0",
                    new BusMessage.ReplicaLoad(REPLICA, LoadReport.NONE)))
        .isEqualTo(SendResult.GONE);
  }
}
