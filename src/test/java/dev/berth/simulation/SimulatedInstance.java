package dev.berth.simulation;

import dev.berth.node.LoopWatch;
import dev.berth.protocol.Addresses;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.replica.BodyBounds;
import dev.berth.replica.HandlerPorts;
import dev.berth.replica.HandlerThreads;
import dev.berth.replica.HookThreads;
import dev.berth.replica.ReplicaHost;
import dev.berth.replica.ReplicaLimits;
import dev.berth.replica.ReplicaListener;
import dev.berth.replica.ReplicaLoop;
import dev.berth.replica.slots.LedgerLimits;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.LoopLimits;
import dev.berth.routing.LoopPorts;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.Routers;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.explain.ExplainPorts;
import dev.berth.routing.slots.InstanceBounds;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** One instance, wired as the node wires it: real routers and replicas on simulated event loops. */
final class SimulatedInstance {
  static final int LOOPS = 2;

  /** What is gathered of a body for a handler that does not stream. */
  static final int MAX_BUFFERED = 300_000;

  private static final long TICK_NANOS = ReplicaLoop.TICK_NANOS;
  private static final long SWEEP_NANOS = 200_000_000;

  final String node;
  final List<SimulatedLoop> loops = new ArrayList<>();
  final SimulatedLoop control; // makes and stops handlers, sweeps
  final ReplicaHost host;
  final List<ReplicaLoop> replicaLoops = new ArrayList<>();
  final Routers routers;
  final BodyBounds bodies;
  final DeploymentRouter router;
  RoutingSnapshot.Version lastVersion = RoutingSnapshot.Version.NONE; // as the checker saw it
  private final World world;
  private final long blockedAfterNanos;
  private final boolean[] blocked = new boolean[LOOPS]; // as its routers were told
  private boolean crashed;

  SimulatedInstance(World world, SimulatedBus bus, String node, Settings settings) {
    this(world, bus, node, settings, new Explained(world));
  }

  SimulatedInstance(
      World world, SimulatedBus bus, String node, Settings settings, Explained explained) {
    this.world = world;
    this.node = node;
    SplittableRandom random = world.randomness();
    bodies = settings.bodies();
    control = new SimulatedLoop(world, node, -1);
    blockedAfterNanos = Settings.millis(30 + random.nextInt(70));
    host =
        new ReplicaHost(
            node,
            bus.from(control),
            world,
            random.split()::nextLong,
            new HandlerPorts(() -> Instant.EPOCH, HookThreads.on(control)),
            HandlerThreads::create,
            settings.replica(),
            settings.ledger(),
            ReplicaListener.NONE);
    List<LoopPorts> ports = new ArrayList<>();
    for (int index = 0; index < LOOPS; index++) {
      SimulatedLoop loop = new SimulatedLoop(world, node, index);
      loops.add(loop);
      ports.add(new LoopPorts(loop, loop::isCurrent, bus.from(loop), world, random.split()));
      replicaLoops.add(
          new ReplicaLoop(
              node,
              index,
              loop,
              bus.from(loop),
              world,
              loop::start,
              settings.replica(),
              settings.bodies(),
              settings.bounds().streams()));
    }
    routers =
        new Routers(
            node,
            random.nextLong(),
            null,
            host,
            settings.bounds(),
            settings.loop(),
            random.split(),
            ports,
            new ExplainPorts(explained::explained, () -> Instant.EPOCH));
    router = routers.router(Settings.DEPLOYMENT, settings.router());
    for (int index = 0; index < LOOPS; index++) {
      RouterLoop routing = routers.loop(index);
      ReplicaLoop serving = replicaLoops.get(index);
      SimulatedLoop loop = loops.get(index);
      bus.consume(Addresses.router(node, index), loop, routing::onMessage);
      bus.consume(Addresses.replica(node, index), loop, serving::onMessage);
    }
  }

  /** The process dies: nothing runs here any more, and nobody is told. */
  void crash() {
    crashed = true;
    control.halt();
    loops.forEach(SimulatedLoop::halt);
  }

  boolean crashed() {
    return crashed;
  }

  /** Told around each tick of a loop. */
  interface TickListener {
    void ticking(SimulatedInstance instance, int loop);

    void ticked(SimulatedInstance instance, int loop);

    void watched(SimulatedInstance instance, int loop, LoopWatch.Change change);
  }

  /** Starts the periodic timers. */
  void start(TickListener listener) {
    for (int index = 0; index < LOOPS; index++) {
      tick(index, listener);
      watch(index, listener);
    }
    sweep();
  }

  private void tick(int index, TickListener listener) {
    SimulatedLoop loop = loops.get(index);
    world.idle(
        TICK_NANOS,
        () ->
            loop.execute(
                () -> {
                  world.discount();
                  listener.ticking(this, index);
                  routers.loop(index).tick();
                  if (index == 0) {
                    routers.tick();
                  }
                  replicaLoops.get(index).tick();
                  listener.ticked(this, index);
                  tick(index, listener);
                }));
  }

  /** As the node's verticle does. */
  private void watch(int index, TickListener listener) {
    long interval = blockedAfterNanos / 4;
    LoopWatch watch = new LoopWatch(blockedAfterNanos, interval, world.getAsLong());
    watchNext(index, interval, watch, listener);
  }

  private void watchNext(int index, long interval, LoopWatch watch, TickListener listener) {
    world.idle(
        interval,
        () -> {
          if (crashed) {
            return;
          }
          observe(index, watch, listener);
          if (watch.beat(world.getAsLong())) {
            loops.get(index).execute(() -> beat(index, watch, listener));
          }
          watchNext(index, interval, watch, listener);
        });
  }

  private void beat(int index, LoopWatch watch, TickListener listener) {
    world.discount();
    watch.answered(world.getAsLong());
    if (blocked[index]) {
      control.execute(() -> observe(index, watch, listener));
    }
  }

  private void observe(int index, LoopWatch watch, TickListener listener) {
    LoopWatch.Change change = watch.observe(world.getAsLong());
    if (change != LoopWatch.Change.NONE) {
      blocked[index] = change == LoopWatch.Change.BLOCKED;
      routers.loopBlocked(index, blocked[index]);
      listener.watched(this, index, change);
    }
  }

  /** Whether its routers take a loop for blocked. */
  boolean isBlocked(int loop) {
    return blocked[loop];
  }

  /** Whether a replica here is to be avoided: its loop is blocked, and another's is not. */
  boolean avoids(ReplicaInfo replica) {
    return isOnBlockedLoop(replica)
        && RoutingProbe.routable(router).stream().anyMatch(other -> !isOnBlockedLoop(other));
  }

  private boolean isOnBlockedLoop(ReplicaInfo replica) {
    return replica.address().node().equals(node) && blocked[replica.address().loop()];
  }

  /** Requests that wait here and could take a slot, as a newcomer on a loop sees them. */
  int takers(int newcomersLoop) {
    int takers = 0;
    for (int index = 0; index < LOOPS; index++) {
      if (!blocked[index] || index == newcomersLoop) {
        takers += RoutingProbe.waitingOn(router, index);
      }
    }
    return takers;
  }

  private void sweep() {
    world.idle(
        SWEEP_NANOS,
        () -> {
          if (!crashed) {
            host.sweep();
            sweep();
          }
        });
  }

  /** The bounds of a run: small, so that each of them is reached. */
  record Settings(
      dev.berth.routing.RouterSettings router,
      LoopLimits loop,
      InstanceBounds bounds,
      ReplicaLimits replica,
      BodyBounds bodies,
      LedgerLimits ledger) {
    static final dev.berth.api.DeploymentId DEPLOYMENT =
        new dev.berth.api.DeploymentId("app", "model");

    static Settings draw(SplittableRandom random, boolean orderly) {
      return new Settings(
          new dev.berth.routing.RouterSettings(
              random.nextInt(3) == 0 ? -1 : 4 + random.nextInt(20),
              millis(300 + random.nextInt(1_500)),
              millis((orderly ? 2_000 : 150) + random.nextInt(1_000)),
              millis(4_000)),
          new LoopLimits(random.nextInt(4) == 0 ? 12 : 64, 65_536),
          new InstanceBounds(40, 1 << 20, 65_536L * (2 + random.nextInt(8))),
          new ReplicaLimits(
              millis(200),
              4,
              200_000,
              millis(1_000),
              8,
              millis(orderly ? 2_000 : 100),
              MAX_BUFFERED),
          new BodyBounds(65_536, 65_536L * (2 + random.nextInt(8)), 1_000_000),
          new LedgerLimits(millis(4_000), SimulatedBus.LATEST_NANOS + millis(5_000), 16_384));
    }

    static long millis(long millis) {
      return millis * 1_000_000;
    }
  }
}
