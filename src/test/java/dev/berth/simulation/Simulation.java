package dev.berth.simulation;

import dev.berth.node.loops.LoopWatch;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * One run: a stretch of at least so many events under faults, then calm until all is over. Every
 * fourth seed is orderly: callers cancel and run out of time, replicas drain and change, messages
 * take their time, but none is lost and nobody vanishes. Then no lease may run out: whoever holds
 * one gives it back, and the time to live is only for the dead. Another fourth has messages as
 * links carry them: they are refused to their sender at once, and for up to 2 s on end, but what
 * was taken arrives. Then whoever waits without a deadline is answered, however patient.
 */
final class Simulation {
  static final int LEAST_EVENTS = 10_000;

  /** The same, of a run with batches, which has more instances. */
  static final int LEAST_EVENTS_OF_BATCHES = 5_000;

  /** Longer than everything that anyone remembers, waits for, or holds. */
  /** One of so many seeds is measured, over two more lives. */
  private static final int MEASURED_EACH = 10;

  private static final long CALM_NANOS = TimeUnit.SECONDS.toNanos(25);

  /** What a run came to. */
  record Result(long seed, long hash, long events, int requests, Coverage coverage)
      implements SeededRuns.Result {}

  private final long seed;
  final World world;
  final Coverage coverage = new Coverage();
  private final SplittableRandom random;
  final SimulatedBus bus;
  final Executions executions;
  final Explained explained;
  final List<SimulatedInstance> instances;
  final SimulatedController controller;
  final Workload workload;
  final Invariants invariants;
  final boolean orderly;
  boolean streamsAreLong; // most of them exceed one window
  final boolean lossless;
  final boolean upstreams; // replicas close and refuse requests that their upstreams did not run
  final boolean weighted; // requests take one slot or several
  final boolean batching; // replicas take batches
  final SimulatedBatches batches;
  private boolean rough = true;

  private Simulation(long seed, boolean batching) {
    this.seed = seed;
    this.batching = batching;
    world = new World(seed);
    orderly = seed % 4 == 0;
    lossless = seed % 4 == 1;
    upstreams = !batching && seed % 5 == 2;
    weighted = batching || seed % 3 == 1;
    random = world.randomness();
    bus = new SimulatedBus(world, coverage);
    bus.spoil();
    executions = new Executions(world);
    explained = new Explained(world);
    batches = new SimulatedBatches(this);
    instances = new ArrayList<>(List.of(instance("n1"), instance("n2")));
    for (long more = batching ? seed % 3 : 0; more > 0; more--) {
      instances.add(instance("n" + (instances.size() + 1)));
    }
    controller = new SimulatedController(this);
    workload = new Workload(this);
    invariants = new Invariants(this);
  }

  private SimulatedInstance instance(String node) {
    SimulatedInstance made =
        new SimulatedInstance(
            world, bus, node, SimulatedInstance.Settings.draw(random, orderly), explained);
    if (batching) {
      batches.configure(made, batches.rules());
    }
    made.onGrant(grant -> invariants.granted(made, grant));
    return made;
  }

  /** Runs a seed; a failure tells how to see it again. */
  static Result run(long seed) {
    return run(seed, simulation -> {});
  }

  /**
   * @param script changes the run before its first event
   */
  static Result run(long seed, Consumer<Simulation> script) {
    Simulation simulation = new Simulation(seed, false);
    script.accept(simulation);
    return simulation.world.told(seed, "SimulationTest", "simulation.seed", simulation::run);
  }

  /** Runs a seed with replicas that take batches. */
  static Result runBatches(long seed) {
    Simulation simulation = new Simulation(seed, true);
    String test = "BatchSimulationTest";
    return simulation.world.told(seed, test, "simulation.batch.seed", simulation::run);
  }

  private Result run() {
    executions.listen(invariants);
    controller.start();
    instances.forEach(this::startTicking);
    workload.start();
    bus.rates(
        orderly
            ? FaultRates.NONE
            : lossless ? FaultRates.drawOfLinks(random) : FaultRates.draw(random).andUnfit(random));
    nextFault();
    world.runUntil(() -> world.ran() >= leastEvents(), invariants::check);
    long events = world.ran();
    rough = false;
    workload.close();
    bus.rates(FaultRates.NONE);
    controller.settle();
    world.runTo(world.elapsedNanos() + CALM_NANOS, invariants::check);
    invariants.checkAtEnd();
    if (seed % MEASURED_EACH == 3) {
      livesAgain();
    }
    return new Result(seed, world.hash(), events, workload.ops.size(), coverage);
  }

  private int leastEvents() {
    return batching ? LEAST_EVENTS_OF_BATCHES : LEAST_EVENTS;
  }

  /** After another, shorter life each instance holds no more than after the one before. */
  private void livesAgain() {
    live();
    Map<SimulatedInstance, Footprint> before = new LinkedHashMap<>();
    instances.forEach(each -> before.put(each, Footprint.of(each.plane)));
    live();
    for (SimulatedInstance each : instances) {
      Map<String, String> grown =
          Footprint.of(each.plane).grownSince(before.get(each), Footprint.GROWS);
      world.failIf(!grown.isEmpty(), () -> each.node + ": holds more after a life: " + grown);
    }
  }

  private void live() {
    long until = world.ran() + leastEvents() / 4;
    workload.start();
    bus.rates(orderly ? FaultRates.NONE : FaultRates.draw(random));
    world.runUntil(() -> world.ran() >= until, invariants::check);
    workload.close();
    bus.rates(FaultRates.NONE);
    world.runTo(world.elapsedNanos() + CALM_NANOS, invariants::check);
    invariants.checkAtEnd();
  }

  private void startTicking(SimulatedInstance instance) {
    instance.start(
        new SimulatedInstance.TickListener() {
          @Override
          public void ticking(SimulatedInstance at, int loop) {
            rememberPhases(at, loop);
          }

          @Override
          public void ticked(SimulatedInstance at, int loop) {
            invariants.ticked(at, loop);
          }

          @Override
          public void watched(SimulatedInstance at, int loop, LoopWatch.LoopStateChange change) {
            boolean blocked = change == LoopWatch.LoopStateChange.BLOCKED;
            world.note("watched", at.loops.get(loop) + (blocked ? " is blocked" : " runs again"));
            coverage.seen(blocked ? Transition.LOOP_BLOCKED : Transition.LOOP_RUNS_AGAIN);
          }
        });
  }

  private void rememberPhases(SimulatedInstance at, int loop) {
    for (Op op : workload.active) {
      if (op.at == at && op.loopIndex == loop && op.active()) {
        op.remember();
      }
    }
  }

  // --- faults that are not the network's ---

  private void nextFault() {
    world.after(
        1 + random.nextLong(TimeUnit.MILLISECONDS.toNanos(60)),
        "fault",
        () -> {
          if (rough) {
            fault();
            nextFault();
          }
        });
  }

  private void changeRanker() {
    SimulatedInstance at = instances.get(random.nextInt(instances.size()));
    if (at.router.queued() > 0) {
      coverage.seen(Transition.RANKER_CHANGED_BESIDE_WAITERS);
    }
    world.note("ranker", at.node + " " + SimulatedRankers.change(at.router.ranker, random, world));
  }

  private void fault() {
    if (random.nextInt(5) == 0) {
      changeRanker();
    }
    if (batching && random.nextInt(8) == 0) {
      batches.change();
    }
    if (!orderly && random.nextInt(20) == 0) {
      String node = instances.get(random.nextInt(instances.size())).node;
      bus.fill(node, random.nextLong(TimeUnit.SECONDS.toNanos(random.nextInt(4) == 0 ? 2 : 1) / 4));
    }
    SimulatedController.Seat seat = controller.seats.get(random.nextInt(controller.seats.size()));
    int drawn = random.nextInt(orderly ? 50 : 100);
    if (drawn < 14) {
      meeting(Fault.DRAIN, seat, controller::drain);
    } else if (drawn < 24 && !orderly) {
      meeting(Fault.KILL, seat, controller::kill);
    } else if (drawn < 50) {
      meeting(Fault.LOWER, seat, controller::changeMax);
    } else if (drawn < 72) {
      workload.someoneVanishes();
    } else if (drawn < 92) {
      stall();
    } else if (drawn < 94) {
      crash();
    } else if (drawn < 98) {
      partition();
    } else {
      controller.failToDeploy();
    }
  }

  private void partition() {
    switch (random.nextInt(3)) {
      case 0 -> {
        meets(Fault.NODE_LOST, controller::isAmongLost);
        controller.nodesLost();
      }
      case 1 -> {
        meets(Fault.LINK_BROKEN, controller::isAmongLost);
        controller.linkBroken();
      }
      default -> {
        meets(Fault.SUSPECTED, controller::isAmongLost);
        controller.suspected();
      }
    }
  }

  private void crash() {
    int place = random.nextInt(instances.size());
    SimulatedInstance dying = instances.get(place);
    List<SimulatedInstance> survivors = new ArrayList<>(instances);
    survivors.remove(dying);
    if (instances.stream().anyMatch(SimulatedInstance::crashed)) {
      return;
    }
    List<String> itsReplicas =
        controller.seats.stream()
            .filter(seat -> seat.instance == dying && seat.current != null)
            .map(seat -> seat.current.replica.replicaId())
            .toList();
    meets(Fault.CRASH, op -> op.at == dying || itsReplicas.contains(op.replica()));
    workload.ops.stream().filter(op -> op.at == dying).forEach(Op::lose);
    controller.crash(dying, survivors, random.nextInt(4) > 0);
    world.after(
        // Half of them are back while others still mean what was there before.
        TimeUnit.MILLISECONDS.toNanos(random.nextBoolean() ? 5 : 120 + random.nextInt(400)),
        "return",
        () -> {
          if (lossless) {
            survivors.forEach(each -> each.lose(dying.node)); // as its links tell it
          }
          SimulatedInstance fresh = instance(dying.node);
          instances.set(place, fresh);
          startTicking(fresh);
          controller.returned(fresh);
        });
  }

  private void stall() {
    SimulatedInstance instance = instances.get(random.nextInt(instances.size()));
    int loop = random.nextInt(SimulatedInstance.LOOPS);
    List<Phase> met =
        workload.active.stream()
            .filter(op -> op.active() && op.at == instance && op.loopIndex == loop)
            .map(Op::phase)
            .toList();
    long nanos =
        TimeUnit.MICROSECONDS.toNanos(
            random.nextInt(20) == 0 ? 1_200_000 : random.nextInt(150_000));
    world.note("stalled", instance.loops.get(loop) + " " + nanos);
    SimulatedLoop stalled = instance.loops.get(loop);
    stalled.stall(nanos, () -> met.forEach(phase -> coverage.fault(Fault.STALL, phase)));
  }

  /** Counts the phases of the requests that a fault of this replica meets, if it happens. */
  private void meeting(
      Fault fault, SimulatedController.Seat seat, Predicate<SimulatedController.Seat> happens) {
    SimulatedController.Incarnation current = seat.current;
    String replica = current == null ? "none" : current.replica.replicaId();
    if (happens.test(seat)) {
      meets(fault, op -> op.phase() == Phase.QUEUE || op.replica().equals(replica));
    }
  }

  private void meets(Fault fault, Predicate<Op> whom) {
    workload.active.stream()
        .filter(op -> op.active() && whom.test(op))
        .forEach(op -> coverage.fault(fault, op.phase()));
  }
}
