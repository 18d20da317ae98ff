package dev.berth.oracles;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.fakes.FakeCaller;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.Replicas;
import dev.berth.fakes.RoutingWorld;
import dev.berth.fakes.Sending;
import dev.berth.node.InstanceLimits;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.LoopDependencies;
import dev.berth.protocol.port.TickTimer;
import dev.berth.replica.BodyMemoryLimits;
import dev.berth.replica.ReplicaLimits;
import dev.berth.replica.slots.LedgerLimits;
import dev.berth.replica.slots.Ledgers;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.LoopLimits;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.Routers;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.slots.InstanceQueueLimits;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * With one shared queue and exact slots the system is M/M/c: no waiter beside a free slot, first in
 * first out. So its mean wait is Erlang's C formula. The shipping router, queue, pump and ledgers
 * run under a virtual clock: Poisson arrivals, exponential service of mean 1.
 *
 * <p>At load 0.95 waits are so correlated that millions of requests still leave a few per cent of
 * noise. So the mean is corrected by a control variate whose expectation is known exactly: the work
 * brought per unit of time. That removes what is due to the sample and keeps what is due to the
 * router. With 32 slots at load 0.5 one request in 3 000 waits at all, which takes the most
 * requests to see. The seed is fixed; both figures are printed.
 */
@Tag("simulation")
class ErlangTest {

  @ParameterizedTest(name = "{0} slots in {1} replicas at load {2}")
  @CsvSource({
    "1, 1, 0.5, 400000",
    "1, 1, 0.8, 1000000",
    "1, 1, 0.95, 4000000",
    "4, 4, 0.5, 800000",
    "4, 4, 0.8, 1000000",
    "4, 4, 0.95, 4000000",
    "32, 4, 0.8, 3000000",
    "32, 4, 0.95, 4000000"
  })
  void theMeanWaitIsErlangs(int slots, int replicas, double load, int requests) {
    double expected = erlangC(slots, load) / (slots * (1 - load));
    Run run = new Run(slots, replicas, load, 7);
    ControlledMean stretches = run.measure(requests);
    double measured = stretches.correctedMean();
    System.out.printf(
        "M/M/%d in %d replicas, load %.2f: mean wait %.5f (raw %.5f), Erlang C %.5f (%+.2f %%)%n",
        slots,
        replicas,
        load,
        measured,
        stretches.rawMean(),
        expected,
        100 * (measured / expected - 1));
    run.assertAtRest();
    assertThat(measured).isCloseTo(expected, Percentage.withPercentage(3));
  }

  @Test
  void theMeanWaitIsErlangsWhereWaitsAreRare() {
    int slots = 32;
    double load = 0.5;
    new Run(slots, 4, load, 8).measure(1_000_000); // asserts that only the unlucky wait
    double expected = erlangC(slots, load) / (slots * (1 - load));
    Run run = new Run(slots, 4, load, 7);
    double sumPerExcursion = run.excursions(400_000);
    double measured = chanceOfAllButOne(slots, load) * sumPerExcursion;
    System.out.printf(
        "M/M/%d in 4 replicas, load %.2f: mean wait %.4e, Erlang C %.4e (%+.2f %%)%n",
        slots, load, measured, expected, 100 * (measured / expected - 1));
    run.assertAtRest();
    assertThat(measured).isCloseTo(expected, Percentage.withPercentage(3));
  }

  /** That an arrival finds all slots but one taken: p(c-1) = P(wait) (1 - load) / load. */
  private static double chanceOfAllButOne(int servers, double load) {
    return erlangC(servers, load) * (1 - load) / load;
  }

  /** The probability of waiting in M/M/c, by the stable recursion of Erlang's B. */
  private static double erlangC(int servers, double load) {
    double offered = servers * load;
    double b = 1;
    for (int i = 1; i <= servers; i++) {
      b = offered * b / (i + offered * b);
    }
    return b / (1 - load * (1 - b));
  }

  /** One run; times are in nanoseconds, one mean service is a millisecond of them. */
  private static final class Run {
    private static final long MEAN_SERVICE_NANOS = 1_000_000;
    private static final DeploymentId DEPLOYMENT = new DeploymentId("oracle", "mmc");
    private static final Request REQUEST = Request.get("/");
    private static final int BATCHES = 200;

    private final SplittableRandom arrivals;
    private final SplittableRandom services;
    private final double meanArrivalNanos;
    private final double load;
    private final int slots;
    private final List<SlotLedger> ledgers = new ArrayList<>();
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    private final PriorityQueue<End> ends = new PriorityQueue<>();
    private final Routers routers;
    private final DeploymentRouter router;
    private long now;
    private double waited;
    private int inSystem;
    private double served;

    private record End(long at, BusMessage.CallRequest call) implements Comparable<End> {
      @Override
      public int compareTo(End other) {
        return Long.compare(at, other.at);
      }
    }

    Run(int slots, int replicas, double load, long seed) {
      SplittableRandom random = new SplittableRandom(seed);
      arrivals = random.split();
      services = random.split();
      this.load = load;
      this.slots = slots;
      meanArrivalNanos = MEAN_SERVICE_NANOS / (load * slots);
      BodyMemoryLimits bodies = PlaneBuilder.bodyBounds();
      InstanceQueueLimits bounds =
          new InstanceQueueLimits(1_000_000, Long.MAX_VALUE, Long.MAX_VALUE);
      routers =
          new PlaneBuilder("n", () -> now, Sending.of(this::send))
              .loop(
                  new LoopDependencies(
                      PlaneBuilder.loopOf(tasks::add, () -> true),
                      PlaneBuilder.NO_TIMER,
                      new TickTimer(PlaneBuilder.NO_TIMER, () -> now),
                      Sending.of(this::send),
                      () -> now,
                      random.split()))
              .limits(
                  new InstanceLimits(
                      ReplicaLimits.DEFAULTS,
                      LedgerLimits.DEFAULTS,
                      bodies,
                      bounds,
                      new LoopLimits(65_536, 65_536)))
              .routers(Replicas.directory(ledgers));
      router = routers.router(DEPLOYMENT, RoutingProbe.DEFAULTS);
      List<RoutingSnapshot.SnapshotReplica> routes = new ArrayList<>();
      for (int i = 0; i < replicas; i++) {
        ledgers.add(Ledgers.ledger(i, slots / replicas, () -> now, () -> 1));
        routes.add(
            new RoutingSnapshot.SnapshotReplica(
                Replicas.info(
                    "r" + i, DEPLOYMENT, new ReplicaAddress("n", 0, i, i), slots / replicas),
                true));
      }
      router.update(
          new RoutingSnapshot(DEPLOYMENT, new RoutingSnapshot.SnapshotVersion(1, 1), true, routes));
    }

    private boolean send(String node, String address, BusMessage message) {
      BusMessage.CallRequest call = (BusMessage.CallRequest) message;
      // The path carries nothing; the request id says when it arrived.
      waited += now - Long.parseLong(call.requestId());
      double service = exponential(services) * MEAN_SERVICE_NANOS;
      served += service;
      ends.add(new End(now + (long) service, call));
      return true;
    }

    ControlledMean measure(int requests) {
      ControlledMean stretches = new ControlledMean();
      int perBatch = requests / BATCHES;
      arrive(2 * perBatch); // warm-up
      for (int batch = 0; batch < BATCHES; batch++) {
        waited = 0;
        served = 0;
        long from = now;
        arrive(perBatch);
        // Work brought per slot and time, against its expectation: 0 in the mean by Wald.
        double brought = served / MEAN_SERVICE_NANOS - perBatch;
        double spanned = (now - from) / meanArrivalNanos - perBatch;
        stretches.add(
            waited / MEAN_SERVICE_NANOS / perBatch, load * (brought - spanned) / perBatch);
      }
      drain();
      return stretches;
    }

    private void arrive(int count) {
      for (int i = 0; i < count; i++) {
        long at = nextArrival();
        endUntil(at);
        now = at;
        arriveNow();
      }
    }

    private void arriveNow() {
      inSystem++;
      RoutedCall.start(
          router, loop(), REQUEST, new Answered(Long.toString(now), now, Long.MAX_VALUE), now);
      runTasks();
      if (router.queued() != Math.max(0, inSystem - slots)) {
        throw new AssertionError(
            router.queued() + " wait with " + inSystem + " requests on " + slots + " slots");
      }
    }

    /** The mean sum of waits from all slots taken until one is free again. */
    double excursions(int count) {
      while (inSystem < slots - 1) {
        arriveNow();
      }
      waited = 0;
      for (int i = 0; i < count; i++) {
        arriveNow();
        long next = nextArrival();
        while (inSystem >= slots) {
          if (ends.element().at <= next) {
            endUntil(ends.element().at);
          } else {
            now = next;
            arriveNow();
            next = nextArrival();
          }
        }
      }
      double mean = waited / MEAN_SERVICE_NANOS / count;
      drain();
      return mean;
    }

    private long nextArrival() {
      return now + (long) (exponential(arrivals) * meanArrivalNanos);
    }

    private RouterLoop loop() {
      return routers.loop(0);
    }

    private void endUntil(long until) {
      for (End end = ends.peek(); end != null && end.at <= until; end = ends.peek()) {
        ends.poll();
        now = end.at;
        inSystem--;
        SlotLedger ledger = ledgers.get(end.call.target().ordinal());
        if (!ledger.observer().completing(ledger, 1)) {
          ledger.complete();
        }
        loop().onMessage(RoutingWorld.answer(end.call.callId()));
        runTasks();
      }
    }

    private void runTasks() {
      for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
        task.run();
      }
    }

    private void drain() {
      endUntil(Long.MAX_VALUE);
    }

    void assertAtRest() {
      assertThat(router.queued()).isZero();
      assertThat(router.counters.running()).isZero();
      assertThat(ledgers).allMatch(ledger -> ledger.ongoing() == 0);
    }

    private static double exponential(SplittableRandom random) {
      return -Math.log(1 - random.nextDouble());
    }
  }

  private static final class Answered extends FakeCaller {
    Answered(String requestId, long arrivedNanos, long deadlineNanos) {
      super(requestId, arrivedNanos, deadlineNanos);
    }

    @Override
    protected void ended() {
      if (failure != null) {
        throw new AssertionError(failure);
      }
    }
  }
}
