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
import dev.berth.protocol.Admission;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.BatchSeats;
import dev.berth.protocol.port.LoopDependencies;
import dev.berth.protocol.port.LoopTimer;
import dev.berth.protocol.port.ReplicaDirectory;
import dev.berth.protocol.port.SlotObserver;
import dev.berth.protocol.port.Slots;
import dev.berth.protocol.port.TickTimer;
import dev.berth.replica.ReplicaLimits;
import dev.berth.replica.batch.Batch;
import dev.berth.replica.batch.BatchEntry;
import dev.berth.replica.batch.BatchPorts;
import dev.berth.replica.batch.BatchTable;
import dev.berth.replica.slots.LedgerLimits;
import dev.berth.replica.slots.Ledgers;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.LoopLimits;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.RouterSettings;
import dev.berth.routing.Routers;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.slots.InstanceQueueLimits;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.PriorityQueue;
import java.util.SplittableRandom;

/**
 * Deployment with batches under a virtual clock. Its router, queue, ledgers and tables of batches
 * are those of an instance, and each batch takes the same time, in nanoseconds.
 */
final class BatchedRun {
  private static final DeploymentId DEPLOYMENT = new DeploymentId("oracle", "bulk");
  private static final Request REQUEST = Request.get("/");
  private static final int STRETCHES = 200;

  private final BatchSettings rules;
  private final long serviceNanos;
  private final SplittableRandom arrivals;
  private final List<Host> hosts = new ArrayList<>();
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private final Routers routers;
  private final DeploymentRouter router;
  private long now;
  private long numbered; // events, for their order at one time
  private double waited;
  private long answered;
  private boolean refills;

  /** Something that happens at a time. */
  private record Event(long at, long number, Runnable task) implements Comparable<Event> {
    @Override
    public int compareTo(Event other) {
      int byTime = Long.compare(at, other.at);
      return byTime != 0 ? byTime : Long.compare(number, other.number);
    }
  }

  static BatchSettings rules(int size, int concurrent, boolean eager) {
    return new BatchSettings(
        size,
        10_000_000,
        concurrent,
        eager,
        Integer.MAX_VALUE,
        Long.MAX_VALUE,
        List.of(),
        List.of());
  }

  BatchedRun(int replicas, BatchSettings rules, long serviceNanos, long seed) {
    this.rules = rules;
    this.serviceNanos = serviceNanos;
    SplittableRandom random = new SplittableRandom(seed);
    arrivals = random.split();
    int slots = rules.maxSize() * rules.maxConcurrent();
    for (int i = 0; i < replicas; i++) {
      hosts.add(new Host(i, slots));
    }
    LoopTimer timer =
        (delay, task) -> {
          Event event = at(now + delay, task);
          return () -> events.remove(event);
        };
    routers =
        new PlaneBuilder("n", () -> now, Sending.of(this::send))
            .loop(
                new LoopDependencies(
                    PlaneBuilder.loopOf(tasks::add, () -> true),
                    timer,
                    new TickTimer(PlaneBuilder.NO_TIMER, () -> now),
                    Sending.of(this::send),
                    () -> now,
                    random.split()))
            .limits(
                new InstanceLimits(
                    ReplicaLimits.DEFAULTS,
                    LedgerLimits.DEFAULTS,
                    PlaneBuilder.bodyBounds(),
                    new InstanceQueueLimits(1_000_000, Long.MAX_VALUE, Long.MAX_VALUE),
                    new LoopLimits(65_536, 65_536)))
            .routers(directory());
    RouterSettings settings = RoutingProbe.batching(RoutingProbe.DEFAULTS, rules);
    router = routers.router(DEPLOYMENT, settings);
    router.update(
        new RoutingSnapshot(
            DEPLOYMENT,
            new RoutingSnapshot.SnapshotVersion(1, 1),
            true,
            hosts.stream()
                .map(host -> new RoutingSnapshot.SnapshotReplica(host.info, true))
                .toList()));
  }

  private ReplicaDirectory directory() {
    ReplicaDirectory ledgers = Replicas.directory(hosts.stream().map(each -> each.ledger).toList());
    return new ReplicaDirectory() {
      @Override
      public Slots slotsOf(ReplicaAddress address) {
        return ledgers.slotsOf(address);
      }

      @Override
      public BatchSeats batchesOf(ReplicaAddress address) {
        return hosts.get(address.ordinal()).table;
      }

      @Override
      public void observe(ReplicaAddress address, SlotObserver observer) {
        ledgers.observe(address, observer);
      }
    };
  }

  private Event at(long time, Runnable task) {
    Event event = new Event(time, numbered++, task);
    events.add(event);
    return event;
  }

  /** A replica whose batches take the same time. */
  private final class Host implements BatchPorts {
    final ReplicaInfo info;
    final SlotLedger ledger;
    final BatchTable table = new BatchTable(() -> rules, () -> now, this);

    Host(int index, int slots) {
      ledger = Ledgers.ledger(index, slots, () -> now, () -> 1);
      info =
          new ReplicaInfo(
              "r" + index,
              DEPLOYMENT,
              new ReplicaAddress("n", 0, index, index),
              slots,
              0,
              true,
              false,
              null,
              OptionalInt.empty(),
              null,
              Map.of(ReplicaInfo.BATCHED, ""));
    }

    @Override
    public void run(Batch batch) {
      for (BatchEntry each : batch.entries()) {
        waited += now - ((Item) each).arrivedNanos;
      }
      at(now + serviceNanos, () -> end(batch));
    }

    private void end(Batch batch) {
      for (BatchEntry each : List.copyOf(batch.entries())) {
        BusMessage.CallRequest call = ((Item) each).call;
        if (!ledger.observer().completing(ledger, 1)) {
          ledger.complete();
        }
        table.finished(each);
        routers.loop(0).onMessage(RoutingWorld.answer(call.callId()));
      }
    }

    @Override
    public void fill(BatchGroup batch) {
      ledger.observer().onBatchOpen(batch);
    }

    @Override
    public void onPlaceFreed() {
      ledger.observer().onSlotFreed(ledger);
    }

    @Override
    public void wakeIn(long nanos) {
      at(now + Math.max(0, nanos), table::look);
    }
  }

  private static final class Item extends BatchEntry {
    final BusMessage.CallRequest call;
    final long arrivedNanos;

    Item(BusMessage.CallRequest call, long arrivedNanos) {
      super(call.methodName(), arrivedNanos, Long.MAX_VALUE, 1, 0);
      this.call = call;
      this.arrivedNanos = arrivedNanos;
    }
  }

  private boolean send(String node, String address, BusMessage message) {
    BusMessage.CallRequest call = (BusMessage.CallRequest) message;
    Admission.BatchSeat seat = (Admission.BatchSeat) call.admission();
    Item item = new Item(call, Long.parseLong(call.requestId())); // its time of arrival
    hosts.get(call.target().ordinal()).table.add(item, seat.group());
    return true;
  }

  private final class Caller extends FakeCaller {
    Caller(long arrivedNanos) {
      super(Long.toString(arrivedNanos), arrivedNanos, Long.MAX_VALUE);
    }

    @Override
    protected void ended() {
      if (failure != null) {
        throw new AssertionError(failure);
      }
      answered++;
      if (refills) {
        tasks.add(BatchedRun.this::arrive);
      }
    }
  }

  private void arrive() {
    RouterLoop loop = routers.loop(0);
    RoutedCall.start(router, loop, REQUEST, new Caller(now), now);
  }

  private void runTasks() {
    for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
      task.run();
    }
  }

  private void passUntil(long until) {
    for (Event next = events.peek(); next != null && next.at <= until; next = events.peek()) {
      events.poll();
      now = next.at;
      next.task.run();
      runTasks();
    }
  }

  /** Runs with Poisson arrivals; returns waits in services. */
  ControlledMean measure(double load, int requests) {
    double meanArrival =
        serviceNanos / (load * rules.maxSize() * rules.maxConcurrent() * hosts.size());
    int perStretch = requests / STRETCHES;
    ControlledMean stretches = new ControlledMean();
    arrive(2 * perStretch, meanArrival); // warm-up
    for (int stretch = 0; stretch < STRETCHES; stretch++) {
      waited = 0;
      long from = now;
      arrive(perStretch, meanArrival);
      double spanned = (now - from) / meanArrival - perStretch; // 0 in the mean
      stretches.add(waited / serviceNanos / perStretch, load * spanned / perStretch);
    }
    passUntil(Long.MAX_VALUE);
    return stretches;
  }

  private void arrive(int count, double meanArrival) {
    for (int i = 0; i < count; i++) {
      long next = now + (long) (-Math.log(1 - arrivals.nextDouble()) * meanArrival);
      passUntil(next);
      now = next;
      arrive();
      runTasks();
    }
  }

  /**
   * Keeps a number of requests under way, each replaced at its end. Returns the answers in one
   * service time, over a number of them.
   */
  double saturate(int requests, int services) {
    refills = true;
    for (int i = 0; i < requests; i++) {
      arrive();
      runTasks();
    }
    passUntil(10 * serviceNanos); // until all replicas have begun
    long before = answered;
    passUntil((10 + services) * serviceNanos);
    double each = (answered - before) / (double) services;
    refills = false;
    passUntil(Long.MAX_VALUE);
    return each;
  }

  void assertAtRest() {
    assertThat(router.queued()).isZero();
    assertThat(router.counters.running()).isZero();
    for (Host host : hosts) {
      assertThat(host.ledger.ongoing()).isZero();
      assertThat(host.table.isBusy()).isFalse();
      assertThat(host.table.waiting()).isZero();
    }
  }
}
