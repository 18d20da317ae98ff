package dev.berth.simulation;

import dev.berth.api.AsyncHandler;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.fakes.Replicas;
import dev.berth.node.LoopWatch;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.LedgerView;
import dev.berth.replica.BodyBounds;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaSpec;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.LoopLimits;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.slots.InstanceBounds;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One run of askers for slots of several deployments, on instances of two event loops, with few
 * slots and many askers. A calm seed has no deadline and no fault: then everyone who waits must be
 * served, which no run could show in which two wait for one another. A rough seed has deadlines,
 * cancels, callers that vanish, replicas that die, stalled loops and a bad network: then everyone
 * must have one answer by the deadline. In both nothing may be left at the end.
 */
final class LegsSimulation {
  private static final int DEPLOYMENTS = 4;
  private static final long TICK_NANOS = LegsWorkload.millis(25);

  /** Longer than anyone who makes progress needs, and than any lease or memory of one. */
  private static final long CALM_NANOS = LegsWorkload.millis(60_000);

  /** What a run came to. */
  record Result(
      long hash, long events, Map<LegsWorkload.Outcome, Integer> outcomes, long anew, int gated)
      implements SeededRuns.Result {}

  /** A replica to keep running. */
  private static final class Seat {
    final DeploymentId deployment;
    final SimulatedInstance instance;
    final int loop;
    final int max;
    @Nullable Replica current;

    Seat(DeploymentId deployment, SimulatedInstance instance, int loop, int max) {
      this.deployment = deployment;
      this.instance = instance;
      this.loop = loop;
      this.max = max;
    }
  }

  private final World world;
  private final SplittableRandom random;
  private final SimulatedBus bus;
  private final boolean rough;
  private final List<SimulatedInstance> instances = new ArrayList<>();
  private final List<Seat> seats = new ArrayList<>();
  private final List<Replica> started = new ArrayList<>();
  private final LegsWorkload workload;
  private long version;
  private int gated; // the most that waited at a gate
  private boolean over;

  private LegsSimulation(long seed) {
    world = new World(seed);
    random = world.randomness();
    bus = new SimulatedBus(world, new Coverage());
    rough = seed % 2 == 0;
    int count = random.nextInt(4) == 0 ? 1 : 2;
    for (int number = 1; number <= count; number++) {
      instances.add(new SimulatedInstance(world, bus, "n" + number, settings()));
    }
    Map<DeploymentId, Integer> slots = new TreeMap<>((a, b) -> a.name().compareTo(b.name()));
    for (int number = 0; number < DEPLOYMENTS; number++) {
      DeploymentId deployment = new DeploymentId("app", "d" + number);
      int replicas = 1 + random.nextInt(2);
      for (int replica = 0; replica < replicas; replica++) {
        int max = 1 + random.nextInt(2);
        slots.merge(deployment, max, Integer::sum);
        seats.add(
            new Seat(
                deployment,
                instances.get(random.nextInt(count)),
                random.nextInt(SimulatedInstance.LOOPS),
                max));
      }
      for (SimulatedInstance instance : instances) {
        instance.routers.router(deployment, settings().router());
      }
    }
    workload = new LegsWorkload(world, instances, slots, rough);
  }

  private SimulatedInstance.Settings settings() {
    return new SimulatedInstance.Settings(
        RoutingProbe.settings(
            -1,
            LegsWorkload.millis(rough ? 1_000 : 3_600_000),
            LegsWorkload.TTL_NANOS,
            LegsWorkload.millis(4_000)),
        SimulatedInstance.Settings.limits(
            LegsWorkload.millis(1_000),
            LegsWorkload.millis(2_000),
            new BodyBounds(65_536, 1 << 20, 1_000_000),
            new InstanceBounds(4_000, 1 << 20, 1 << 20),
            new LoopLimits(256, 65_536)));
  }

  /** Runs a seed; a failure tells how to see it again. */
  static Result run(long seed) {
    LegsSimulation simulation = new LegsSimulation(seed);
    return simulation.world.told(
        seed, "LegsSimulationTest", "simulation.legs.seed", simulation::run);
  }

  private Result run() {
    instances.forEach(this::startTicking);
    seats.forEach(this::start);
    publish();
    workload.start();
    if (rough) {
      bus.rates(FaultRates.draw(random));
      nextFault();
    }
    while (!workload.closed()) {
      world.mustStep();
    }
    over = true;
    bus.rates(FaultRates.NONE);
    long end = world.elapsedNanos() + CALM_NANOS;
    while (workload.waiting > 0 && world.nextNanos() <= end) {
      world.mustStep();
    }
    checkAllAnswered();
    long rest = world.elapsedNanos() + LegsWorkload.millis(12_000);
    while (world.nextNanos() <= rest) {
      world.mustStep();
    }
    checkAtEnd();
    long anew =
        instances.stream()
            .flatMap(instance -> instance.routers.all().stream())
            .mapToLong(router -> router.counters().collectedAnew())
            .sum();
    return new Result(world.hash(), world.ran(), workload.outcomes, anew, gated);
  }

  private void startTicking(SimulatedInstance instance) {
    instance.start(
        new SimulatedInstance.TickListener() {
          @Override
          public void ticking(SimulatedInstance at, int loop) {
            for (DeploymentRouter router : at.routers.all()) {
              gated = Math.max(gated, router.legGate().size());
            }
          }

          @Override
          public void ticked(SimulatedInstance at, int loop) {
            long now = world.getAsLong();
            at.loops.get(loop).execute(() -> checkDeadlines(at, loop, now)); // told a task later
          }

          @Override
          public void watched(SimulatedInstance at, int loop, LoopWatch.Change change) {
            world.note("watched", at.loops.get(loop) + " " + change);
          }
        });
  }

  // --- replicas ---

  private void start(Seat seat) {
    SimulatedLoop loop = seat.instance.loops.get(seat.loop);
    ReplicaSpec spec =
        Replicas.spec(
            seat.deployment + "#" + started.size(),
            seat.deployment,
            random.nextLong(),
            seat.max,
            context -> new Handler(loop, world.randomness()));
    seat.instance.start(
        seat.loop,
        spec,
        replica -> {
          seat.current = replica;
          started.add(replica);
          publish();
        });
  }

  /** Answers after a while; cancelled, at once. */
  private record Handler(SimulatedLoop loop, SplittableRandom random) implements AsyncHandler {
    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      Promise<Response> answer = Promise.promise();
      long takes = random.nextLong(LegsWorkload.millis(random.nextInt(5) == 0 ? 60 : 4));
      loop.start(takes, () -> answer.tryComplete(Response.text("done")));
      context.onCancel(() -> answer.tryComplete(Response.text("cancelled")));
      return answer.future();
    }
  }

  private void publish() {
    Map<DeploymentId, List<RoutingSnapshot.Route>> routes =
        new TreeMap<>((a, b) -> a.name().compareTo(b.name()));
    for (Seat seat : seats) {
      List<RoutingSnapshot.Route> its =
          routes.computeIfAbsent(seat.deployment, id -> new ArrayList<>());
      Replica current = seat.current;
      if (current != null) {
        its.add(new RoutingSnapshot.Route(Replicas.info(current), true));
      }
    }
    RoutingSnapshot.Version next = new RoutingSnapshot.Version(1, ++version);
    routes.forEach(
        (deployment, its) -> {
          RoutingSnapshot snapshot = new RoutingSnapshot(deployment, next, true, its);
          for (SimulatedInstance instance : instances) {
            world.after(
                1 + random.nextLong(LegsWorkload.millis(10)),
                "snapshot",
                () -> instance.routers.update(snapshot));
          }
        });
  }

  // --- faults that are not the network's ---

  private void nextFault() {
    world.after(
        1 + random.nextLong(LegsWorkload.millis(60)),
        "fault",
        () -> {
          if (over) {
            return;
          }
          if (random.nextInt(3) == 0) {
            stall();
          } else {
            kill(seats.get(random.nextInt(seats.size())));
          }
          nextFault();
        });
  }

  private void stall() {
    SimulatedInstance at = instances.get(random.nextInt(instances.size()));
    int most = random.nextInt(6) == 0 ? 3_000 : 200;
    at.loops
        .get(random.nextInt(SimulatedInstance.LOOPS))
        .stall(random.nextLong(LegsWorkload.millis(most)));
  }

  private void kill(Seat seat) {
    Replica dying = seat.current;
    if (dying == null) {
      return;
    }
    seat.current = null;
    world.note("killed", dying.replicaId());
    dying.kill();
    for (SimulatedInstance instance : instances) {
      world.after(
          1 + random.nextLong(LegsWorkload.millis(100)),
          "detected",
          () -> instance.routers.replicaLost(dying.address()));
    }
    publish();
    world.after(1 + random.nextLong(LegsWorkload.millis(60)), "restart", () -> start(seat));
  }

  // --- what must hold ---

  private void checkDeadlines(SimulatedInstance at, int loop, long tickedNanos) {
    for (LegsWorkload.Asker asker : workload.askers) {
      if (asker.asked
          && !asker.answered
          && world.elapsedNanos() - asker.askedNanos > 2 * TICK_NANOS
          && asker.at == at
          && asker.loop == loop
          && asker.deadlineNanos != Long.MAX_VALUE
          && asker.deadlineNanos - tickedNanos < -2 * TICK_NANOS) {
        throw world.fail(
            "%s: no answer %s ms after its deadline"
                .formatted(asker, (world.getAsLong() - asker.deadlineNanos) / 1_000_000));
      }
    }
  }

  private void checkAllAnswered() {
    List<LegsWorkload.Asker> left =
        workload.askers.stream().filter(asker -> !asker.answered).toList();
    if (!left.isEmpty()) {
      throw world.fail(
          left.size() + " wait for ever (expected: all served), the first: " + left.get(0));
    }
  }

  private void checkAtEnd() {
    for (Replica replica : started) {
      replica.slots().audit();
      LedgerView view = replica.view();
      if (view.running() + view.reserved() != 0 || view.audit() != LedgerView.Audit.CLEAN) {
        throw world.fail("not at rest: " + view);
      }
      if (!rough && view.expired() != 0) {
        throw world.fail("a lease ran out that nobody had forgotten: " + view);
      }
    }
    for (LegsWorkload.Asker asker : workload.askers) {
      if (asker.parent != null && asker.parent.children() != 0) {
        throw world.fail(asker + ": over, but its parent would still cancel it");
      }
    }
    instances.forEach(SimulatedInstance::checkEmpty);
  }
}
