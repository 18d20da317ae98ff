package dev.berth.simulation;

import dev.berth.api.DeploymentId;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.fakes.Replicas;
import dev.berth.node.DataPlane;
import dev.berth.node.InstanceLimits;
import dev.berth.node.loops.LoopWatch;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.InstanceDependencies;
import dev.berth.protocol.port.LoopDependencies;
import dev.berth.protocol.port.LoopTimer;
import dev.berth.protocol.port.TickTimer;
import dev.berth.replica.BodyMemoryLimits;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaHost;
import dev.berth.replica.ReplicaLimits;
import dev.berth.replica.ReplicaSpec;
import dev.berth.replica.slots.LedgerLimits;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.LoopLimits;
import dev.berth.routing.RouterSettings;
import dev.berth.routing.Routers;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.slots.InstanceQueueLimits;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One instance, wired as the node wires it: real routers and replicas on simulated event loops. */
final class SimulatedInstance {
  static final int LOOPS = 2;

  /** What is gathered of a body for a handler that does not stream. */
  static final int MAX_BUFFERED = 300_000;

  private static final long TICK_NANOS = TickTimer.TICK_NANOS;
  private static final long SWEEP_NANOS = 200_000_000;

  final String node;
  final List<SimulatedLoop> loops = new ArrayList<>();
  final SimulatedLoop control; // makes and stops handlers, sweeps
  final DataPlane plane;
  final ReplicaHost host;
  final Routers routers;
  final DeploymentRouter router;
  final ReplicaLimits limits; // of its replicas
  RoutingSnapshot.SnapshotVersion lastVersion =
      RoutingSnapshot.SnapshotVersion.NONE; // as the checker saw it
  private final World world;
  private final long blockedAfterNanos;
  // A loop's next tick. Without one, the loop looks at no deadline.
  private final @Nullable Runnable[] armed = new Runnable[LOOPS];
  private final boolean[] blocked = new boolean[LOOPS]; // as its routers were told
  private final Set<String> suspected = new HashSet<>(); // others, as its routers were told
  private boolean crashed;

  SimulatedInstance(World world, SimulatedBus bus, String node, Settings settings) {
    this(world, bus, node, settings, new Explained(world));
  }

  SimulatedInstance(
      World world, SimulatedBus bus, String node, Settings settings, Explained explained) {
    this.world = world;
    this.node = node;
    SplittableRandom random = world.randomness();
    control = new SimulatedLoop(world, node, -1);
    blockedAfterNanos = Settings.millis(30 + random.nextInt(70));
    SplittableRandom secrets = random.split();
    List<LoopDependencies> ports = new ArrayList<>();
    for (int index = 0; index < LOOPS; index++) {
      SimulatedLoop loop = new SimulatedLoop(world, node, index);
      loops.add(loop);
      int at = index;
      LoopTimer ticks =
          (delay, task) -> {
            armed[at] = task;
            return () -> armed[at] = null;
          };
      ports.add(
          new LoopDependencies(
              loop,
              loop::start,
              new TickTimer(ticks, world),
              bus.from(loop),
              world,
              random.split()));
    }
    plane =
        new DataPlane(
            new InstanceDependencies(
                node,
                random.nextLong(),
                null,
                ports,
                bus.from(control),
                world,
                () -> Instant.EPOCH,
                random.split(),
                secrets::nextLong),
            PlaneBuilder.handlers(PlaneBuilder.hooks(control)),
            explained::explained,
            settings.limits());
    limits = settings.limits().replica();
    host = plane.host;
    routers = plane.routers;
    router = routers.router(Settings.DEPLOYMENT, settings.router());
    for (int index = 0; index < LOOPS; index++) {
      SimulatedLoop loop = loops.get(index);
      plane.receive(index, (address, receiver) -> bus.consume(address, loop, receiver));
    }
  }

  /** Starts a replica on a loop; a run whose replica does not start has failed. */
  void start(int loop, ReplicaSpec spec, Consumer<Replica> started) {
    host.begin(spec, List.of(Replicas.seat(plane.replicas(loop))))
        .running()
        .onSuccess(started::accept)
        .onFailure(
            failure -> {
              throw world.fail("a replica did not start", failure);
            });
  }

  /** Told of each slot as it is handed to who waits for one. */
  void onGrant(Consumer<Runnable> told) {
    for (SimulatedLoop loop : loops) {
      loop.listen(
          task -> {
            if (RoutingProbe.isGrant(task)) {
              told.accept(task);
            }
          });
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
    default void ticking(SimulatedInstance instance, int loop) {}

    default void ticked(SimulatedInstance instance, int loop) {}

    default void watched(SimulatedInstance instance, int loop, LoopWatch.LoopStateChange change) {}
  }

  /** Starts the periodic timers. */
  void start(TickListener listener) {
    for (int index = 0; index < LOOPS; index++) {
      plane.startTicks(index, () -> {});
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
                  Runnable armedTick = armed[index];
                  armed[index] = null;
                  if (armedTick != null) {
                    armedTick.run();
                  }
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
    watch.acknowledge(world.getAsLong());
    if (blocked[index]) {
      control.execute(() -> observe(index, watch, listener));
    }
  }

  private void observe(int index, LoopWatch watch, TickListener listener) {
    LoopWatch.LoopStateChange change = watch.observe(world.getAsLong());
    if (change != LoopWatch.LoopStateChange.NONE) {
      blocked[index] = change == LoopWatch.LoopStateChange.BLOCKED;
      plane.loopBlocked(index, blocked[index]);
      listener.watched(this, index, change);
    }
  }

  /** Whether its routers take a loop for blocked. */
  boolean isBlocked(int loop) {
    return blocked[loop];
  }

  void suspect(String other, boolean isSuspected) {
    if (isSuspected) {
      suspected.add(other);
    } else {
      suspected.remove(other);
    }
    routers.suspected(other, isSuspected);
  }

  /** Another instance is no more, as far as this one is told. */
  void lose(String other) {
    suspected.remove(other);
    plane.nodeLost(other);
  }

  /**
   * Whether a replica is to be avoided: its loop is blocked or its instance suspected, and
   * another's is not.
   */
  boolean avoids(ReplicaInfo replica) {
    return isDoubtful(replica)
        && RoutingProbe.routableAndWell(router).stream().anyMatch(other -> !isDoubtful(other));
  }

  private boolean isDoubtful(ReplicaInfo replica) {
    String at = replica.address().node();
    return suspected.contains(at) || at.equals(node) && blocked[replica.address().loop()];
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
            host.sweep(0, 1, mismatch -> {});
            sweep();
          }
        });
  }

  /** When all is over. */
  void checkEmpty() {
    AtRest.check(world, node, plane);
  }

  /** The bounds of a run: small, so that each of them is reached. */
  record Settings(RouterSettings router, InstanceLimits limits) {
    /** Time that the stream of a drawn instance waits for credit. */
    static final long STREAM_IDLE_NANOS = millis(1_000);

    /** Time for which younger requests may overtake a larger one. */
    static final long OVERTAKE_NANOS = millis(50);

    static final DeploymentId DEPLOYMENT = new DeploymentId("app", "model");

    static Settings draw(SplittableRandom random, boolean orderly) {
      RouterSettings router =
          RoutingProbe.overtaking(
              RoutingProbe.settings(
                  random.nextInt(3) == 0 ? -1 : 4 + random.nextInt(20),
                  millis(300 + random.nextInt(1_500)),
                  millis((orderly ? 2_000 : 150) + random.nextInt(1_000)),
                  millis(4_000)),
              OVERTAKE_NANOS);
      LoopLimits loop =
          new LoopLimits(
              random.nextInt(4) == 0 ? 12 : 64,
              65_536,
              millis(orderly ? 3_000 : 20 + random.nextInt(3_000)),
              millis(3 + random.nextInt(random.nextBoolean() ? 30 : 600)),
              random.nextInt(4) == 0 ? 1 : 64,
              LoopLimits.DEFAULTS.unavailableNanos());
      InstanceQueueLimits bounds =
          new InstanceQueueLimits(40, 1 << 20, 65_536L * (2 + random.nextInt(8)));
      BodyMemoryLimits bodies =
          new BodyMemoryLimits(65_536, 65_536L * (2 + random.nextInt(8)), 1_000_000);
      return new Settings(
          router, limits(STREAM_IDLE_NANOS, millis(orderly ? 2_000 : 100), bodies, bounds, loop));
    }

    /** Bounds that a run does not reach but by what it is about. */
    static Settings wide(
        RouterSettings router, long streamIdleNanos, long streamBytes, int pendingRequests) {
      return new Settings(
          router,
          limits(
              streamIdleNanos,
              millis(2_000),
              new BodyMemoryLimits(65_536, 1 << 20, 1_000_000),
              new InstanceQueueLimits(4_000, 1 << 20, streamBytes),
              new LoopLimits(pendingRequests, 65_536)));
    }

    /** Short times, so that they pass in a run. */
    private static InstanceLimits limits(
        long streamIdleNanos,
        long offerTtlNanos,
        BodyMemoryLimits bodies,
        InstanceQueueLimits bounds,
        LoopLimits loop) {
      return new InstanceLimits(
          new ReplicaLimits(
              millis(200),
              4,
              200_000,
              streamIdleNanos,
              8,
              offerTtlNanos,
              MAX_BUFFERED,
              millis(10_000),
              "/",
              "",
              null),
          new LedgerLimits(
              millis(4_000),
              SimulatedBus.LATEST_NANOS + millis(5_000),
              16_384,
              SimulatedBus.LATEST_NANOS + millis(5_000),
              1 << 20),
          bodies,
          bounds,
          loop);
    }

    static long millis(long millis) {
      return millis * 1_000_000;
    }
  }
}
