package dev.berth.simulation;

import dev.berth.cluster.membership.MemberList;
import dev.berth.code.BuildCache;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.desired.StateLog;
import dev.berth.node.DataPlane;
import dev.berth.node.SimulatedNode;
import dev.berth.node.loops.Identity;
import dev.berth.replica.hooks.HookThreads;
import io.vertx.core.Promise;
import io.vertx.core.internal.ContextInternal;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** One name of a {@link ClusterSimulation}, and the process that it has now. */
final class ClusterNode {
  static final int CONTROL_PORT = 7420;
  static final int DATA_PORT = 7422;

  /** Loops of a process before those that serve. */
  private static final int OTHER_LOOPS = 2;

  final String name;
  final String host;
  final boolean control; // whether the controller is here
  private final ServeConfig config;
  private final ClusterSimulation on;
  private final SplittableRandom random;
  private @Nullable SimulatedVertx vertx;
  private @Nullable SimulatedClock clock;
  private @Nullable SimulatedNode process;
  private boolean strange;
  private long pausedUntil;
  private long suspendedUntil;
  int processes;
  boolean leaving;
  boolean stopping; // its loops end: nobody calls any more
  long befallenUntil; // by what may make it silent

  /**
   * @param messages how it sends to other nodes
   */
  ClusterNode(ClusterSimulation on, int number, String messages) {
    this.on = on;
    this.name = "n" + number;
    this.host = "127.0.0." + number;
    this.control = number == 1;
    this.random = on.world.randomness();
    this.config =
        ConfigReader.read(
            "file",
            Path.of("."),
            """
            berth:
              messages: %s
              cluster:
                {name: c, node: %s, zone: z%d, role: %s, bind: %s, insecure: true,
                 control: ['n1@127.0.0.1:%d'],
                 max_inflight_bytes_per_peer: 262144}
            """
                .formatted(
                    messages,
                    name,
                    number % 3,
                    control ? "control" : "worker",
                    host,
                    CONTROL_PORT));
  }

  /** A source of chance that its seed repeats. */
  private static final class Chance extends SecureRandom {
    private static final long serialVersionUID = 1;
    private final transient SplittableRandom random;

    Chance(SplittableRandom random) {
      super(null, null);
      this.random = random;
    }

    @Override
    public long nextLong() {
      return random.nextLong();
    }

    @Override
    public int nextInt() {
      return random.nextInt();
    }

    @Override
    public void nextBytes(byte[] bytes) {
      random.nextBytes(bytes);
    }
  }

  // --- the process ---

  /**
   * @param log of a control node
   * @param isStrange whether the controller that it may meet is of another cluster
   */
  void start(@Nullable StateLog log, boolean isStrange) {
    strange = isStrange;
    processes++;
    leaving = false;
    stopping = false;
    pausedUntil = 0;
    suspendedUntil = -TimeUnit.SECONDS.toNanos(10);
    befallen(TimeUnit.SECONDS.toNanos(15));
    SimulatedVertx own = new SimulatedVertx(on.world, on.net, host);
    boolean opensBus = Objects.requireNonNull(config.cluster()).opensBus();
    vertx = own;
    clock =
        new SimulatedClock(
            on.world,
            random.nextLong(-1L << 40, 1L << 40),
            1 + (random.nextDouble() - 0.5) / 1_000);
    Identity identity =
        new Identity(
            name + "~" + Integer.toHexString(random.nextInt()),
            random.nextLong(),
            clock,
            () -> Instant.ofEpochMilli(on.world.elapsedNanos() / 1_000_000),
            new Chance(random.split()));
    List<ContextInternal> loops = new ArrayList<>();
    for (int i = -OTHER_LOOPS; i <= random.nextInt(4) / 3; i++) {
      loops.add(own.loop(identity.node()));
    }
    SimulatedNode made =
        new SimulatedNode(
            new SimulatedNode.Around(
                config,
                identity,
                loops,
                hooks(own),
                task -> offLoop(own, 300, task),
                log,
                (application, build) -> on.code(this, application, build),
                failed -> on.world.fail(name + " does not start", failed)));
    process = made;
    if (opensBus) {
      own.openBus();
    }
    on.world.note("process", identity.node() + " begins");
    own.loops.get(0).execute(made::start);
  }

  private HookThreads hooks(SimulatedVertx own) {
    return (application, kind, task) -> {
      boolean[] takenBack = new boolean[1];
      offLoop(
          own,
          kind == HookThreads.HookKind.START ? 800 : 20,
          () -> {
            if (!takenBack[0]) {
              on.watch.at = this;
              task.run();
            }
          });
      return () -> takenBack[0] = true;
    };
  }

  /** What threads of a process do, it does while it runs. */
  private void offLoop(SimulatedVertx own, int mostMillis, Runnable task) {
    on.world.after(
        TimeUnit.MILLISECONDS.toNanos(1 + random.nextInt(mostMillis)),
        "thread",
        () -> {
          if (vertx != own) {
            return;
          }
          if (isPaused()) {
            offLoop(own, mostMillis, task);
          } else {
            task.run();
          }
        });
  }

  /** The next controller is another one; only who was told of one before knows better. */
  void mayBeStrange() {
    strange = !serves() || members().list().isEmpty();
  }

  boolean isStrange() {
    return strange;
  }

  boolean isUp() {
    return process != null;
  }

  boolean isPaused() {
    return pausedUntil > on.world.elapsedNanos();
  }

  /** Whether one of its loops was stopped since then, or is. */
  boolean wasHeldSince(long nanos) {
    long stalled =
        vertx().loops.stream().mapToLong(SimulatedLoop::stalledUntilNanos).max().orElse(0);
    return stalled > nanos;
  }

  /**
   * Whether it may take what came while its clock stood still for new, and others its calls for
   * older or younger than they are: until all of its loops have spoken for a while.
   */
  boolean wasSuspended() {
    long spokeAt =
        vertx().loops.stream()
            .mapToLong(SimulatedLoop::stalledUntilNanos)
            .filter(held -> held - suspendedUntil < TimeUnit.SECONDS.toNanos(10))
            .reduce(suspendedUntil, Math::max);
    return on.world.elapsedNanos() - spokeAt < TimeUnit.SECONDS.toNanos(5);
  }

  /** Whether it has what requests pass through. */
  boolean serves() {
    return process != null && process.isStarted();
  }

  SimulatedNode process() {
    return Objects.requireNonNull(process, name + ": no process");
  }

  SimulatedVertx vertx() {
    return Objects.requireNonNull(vertx, name + ": no process");
  }

  SimulatedClock clock() {
    return Objects.requireNonNull(clock);
  }

  DataPlane plane() {
    return process().plane();
  }

  MemberList members() {
    return process().members();
  }

  int servingLoops() {
    return vertx().loops.size() - OTHER_LOOPS;
  }

  SimulatedLoop serving(int index) {
    return vertx().loops.get(OTHER_LOOPS + index);
  }

  void onControl(Runnable task) {
    vertx().loops.get(0).execute(task);
  }

  BuildCache.@Nullable BuildInputs build(String application, String build) {
    var found = serves() ? process().build(application, build) : null;
    return found == null ? null : new BuildCache.BuildInputs(found, config);
  }

  /** What it asked for has come, or will not. */
  void isTold(
      int asks, Promise<BuildCache.BuildInputs> read, BuildCache.@Nullable BuildInputs found) {
    if (!isUp() || asks != processes) {
      return;
    }
    onControl(
        () -> {
          if (found == null) {
            read.tryFail("build: not read (expected: one of the controller's)");
          } else {
            read.tryComplete(found);
          }
        });
  }

  // --- what befalls it ---

  /** It may be silent for so long, and is to be left alone for a while after that. */
  void befallen(long nanos) {
    befallenUntil = Math.max(befallenUntil, on.world.elapsedNanos() + nanos);
  }

  /**
   * @param silently with its machine
   */
  void kill(boolean silently) {
    SimulatedVertx own = vertx;
    if (own != null) {
      on.world.note("process", name + (silently ? " vanishes" : " is killed"));
      own.halt();
      on.net.gone(own, silently);
      vertx = null;
      process = null;
    }
  }

  /**
   * @param suspended whether its clock stands still
   */
  void pause(long nanos, boolean suspended) {
    on.world.note(suspended ? "suspended" : "paused", name + " " + nanos / 1_000_000 + " ms");
    pausedUntil = Math.max(pausedUntil, on.world.elapsedNanos() + nanos);
    befallen(nanos);
    vertx().loops.forEach(each -> each.stall(nanos));
    if (suspended) {
      long until = on.world.elapsedNanos() + nanos;
      clock().stoodStill(Math.max(0, until - Math.max(on.world.elapsedNanos(), suspendedUntil)));
      suspendedUntil = Math.max(until, suspendedUntil);
    }
  }

  /** As SIGTERM, and SIGKILL after a while. */
  void leave() {
    on.world.note("process", name + " leaves");
    leaving = true;
    int own = processes;
    SimulatedNode leaves = process();
    SimulatedLoop control = vertx().loops.get(0);
    control.execute(
        () ->
            leaves.leave().onComplete((left, failed) -> control.execute(() -> stop(leaves, own))));
    on.world.after(TimeUnit.SECONDS.toNanos(15), "killed", () -> killIf(own));
  }

  private void stop(SimulatedNode leaves, int own) {
    stopping |= processes == own;
    on.world.note("process", name + " has left, and stops");
    leaves.stop().onComplete((stopped, late) -> on.world.after(1, "stopped", () -> killIf(own)));
  }

  private void killIf(int own) {
    if (processes == own) {
      kill(false);
      on.startLater(this, 5_000);
    }
  }

  @Override
  public String toString() {
    return name;
  }
}
