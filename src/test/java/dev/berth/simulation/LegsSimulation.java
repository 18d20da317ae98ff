package dev.berth.simulation;

import dev.berth.api.AsyncHandler;
import dev.berth.api.DeploymentId;
import dev.berth.node.loops.LoopWatch;
import dev.berth.replica.Replica;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RouterSettings;
import dev.berth.routing.RoutingProbe;
import dev.berth.view.LedgerView;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * One run of askers for slots of several deployments, on instances of two event loops, with few
 * slots and many askers. A calm seed has no deadline and no fault: then everyone who waits must be
 * served, which no run could show in which two wait for one another. A rough seed has deadlines,
 * cancels, callers that vanish, replicas that die, stalled loops and a bad network: then everyone
 * must have one answer by the deadline. In both nothing may be left at the end.
 */
final class LegsSimulation extends ClusterRun {
  private static final int DEPLOYMENTS = 4;
  private static final long TICK_NANOS = millis(25);

  /** Longer than anyone who makes progress needs, and than any lease or memory of one. */
  private static final long CALM_NANOS = millis(60_000);

  /** What a run came to. */
  record Result(
      long hash, long events, Map<LegsWorkload.Outcome, Integer> outcomes, long anew, int gated)
      implements SeededRuns.Result {}

  private final SimulatedBus bus;
  private final boolean rough;
  private final List<DeploymentId> deployments = new ArrayList<>();
  private final LegsWorkload workload;
  private int gated; // the most that waited at a gate

  private LegsSimulation(World world, boolean rough) {
    super(world, world.randomness());
    this.rough = rough;
    bus = new SimulatedBus(world, new Coverage());
    int count = random.nextInt(4) == 0 ? 1 : 2;
    RouterSettings routing =
        RoutingProbe.settings(
            -1, millis(rough ? 1_000 : 3_600_000), LegsWorkload.TTL_NANOS, millis(4_000));
    instances(count, bus, SimulatedInstance.Settings.wide(routing, millis(1_000), 1 << 20, 256));
    Map<DeploymentId, Integer> slots = new TreeMap<>((a, b) -> a.name().compareTo(b.name()));
    for (int number = 0; number < DEPLOYMENTS; number++) {
      DeploymentId deployment = new DeploymentId("app", "d" + number);
      deployments.add(deployment);
      for (int replicas = 1 + random.nextInt(2); replicas > 0; replicas--) {
        int max = 1 + random.nextInt(2);
        slots.merge(deployment, max, Integer::sum);
        SimulatedInstance at = instances.get(random.nextInt(count));
        seats.add(new Seat(deployment, at, random.nextInt(SimulatedInstance.LOOPS), max));
      }
      instances.forEach(each -> each.routers.router(deployment, routing));
      if (!rough
          && seats.stream()
                  .filter(of -> of.deployment.equals(deployment))
                  .map(of -> of.at)
                  .distinct()
                  .count()
              > 1) {
        slots.put(deployment, 1); // no more of it is to be had together
      }
    }
    workload = new LegsWorkload(world, instances, slots, rough, this::runs, bus::leaseWayNanos);
  }

  /** Runs a seed; a failure tells how to see it again. */
  static Result run(long seed) {
    LegsSimulation simulation = new LegsSimulation(new World(seed), seed % 2 == 0);
    return simulation.world.told(
        seed, "LegsSimulationTest", "simulation.legs.seed", simulation::run);
  }

  private Result run() {
    instances.forEach(each -> each.start(this));
    seats.forEach(this::start);
    deployments.forEach(this::publish);
    lives();
    long anew = routers().stream().mapToLong(each -> each.counters.collectedAnew.sum()).sum();
    return new Result(world.hash(), world.ran(), workload.outcomes, anew, gated);
  }

  @Override
  void live() {
    over = false;
    workload.start();
    if (rough) {
      bus.rates(FaultRates.draw(random));
      nextFault();
    }
    world.runUntil(workload::closed, this::check);
    over = true;
    bus.rates(FaultRates.NONE);
    long end = world.elapsedNanos() + CALM_NANOS;
    world.runUntil(() -> workload.waiting == 0 || world.nextNanos() > end, this::check);
    checkAllAnswered();
    rest();
    checkAtEnd();
  }

  @Override
  public void ticking(SimulatedInstance at, int loop) {
    for (DeploymentRouter router : at.routers.all()) {
      gated = Math.max(gated, router.legGate.size());
    }
  }

  @Override
  public void ticked(SimulatedInstance at, int loop) {
    long now = world.getAsLong();
    at.loops.get(loop).execute(() -> checkDeadlines(at, loop, now)); // told a task later
  }

  @Override
  public void watched(SimulatedInstance at, int loop, LoopWatch.LoopStateChange change) {
    world.note("watched", at.loops.get(loop) + " " + change);
  }

  // --- replicas ---

  @Override
  AsyncHandler handler(Seat seat) {
    SimulatedLoop loop = seat.at.loops.get(seat.loop);
    SplittableRandom own = world.randomness();
    return (request, context) ->
        answer(loop, own.nextLong(millis(own.nextInt(5) == 0 ? 60 : 4)), "done", context);
  }

  @Override
  long toldAfterNanos() {
    return 1 + random.nextLong(millis(10));
  }

  /** What did not change is told again. */
  @Override
  void changed(DeploymentId id) {
    deployments.forEach(this::publish);
  }

  /** What was killed is renewed no more, and its lease may be on its way to who waited for it. */
  private boolean runs(String replicaId) {
    return seats.stream()
        .anyMatch(each -> each.current != null && each.current.replicaId().equals(replicaId));
  }

  // --- faults that are not the network's ---

  private void nextFault() {
    world.after(
        1 + random.nextLong(millis(60)),
        "fault",
        () -> {
          if (over) {
            return;
          }
          if (random.nextInt(3) == 0) {
            stall();
          } else {
            kill(seats.get(random.nextInt(seats.size())), millis(60));
          }
          nextFault();
        });
  }

  private void stall() {
    SimulatedInstance at = instances.get(random.nextInt(instances.size()));
    int most = random.nextInt(6) == 0 ? 3_000 : 200;
    at.loops.get(random.nextInt(SimulatedInstance.LOOPS)).stall(random.nextLong(millis(most)));
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

  @Override
  void checkAtEnd() {
    super.checkAtEnd();
    for (Replica replica : started) {
      LedgerView view = replica.view();
      boolean ranOut = !rough && view.expired() != 0;
      world.failIf(ranOut, () -> "a lease ran out that nobody had forgotten: " + view);
    }
    for (LegsWorkload.Asker asker : workload.askers) {
      if (asker.parent != null && asker.parent.children() != 0) {
        throw world.fail(asker + ": over, but its parent would still cancel it");
      }
    }
  }
}
