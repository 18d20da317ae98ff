package dev.berth.fakes;

import dev.berth.node.DataPlane;
import dev.berth.node.InstanceLimits;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.InstanceDependencies;
import dev.berth.protocol.port.LoopDependencies;
import dev.berth.protocol.port.LoopExecutor;
import dev.berth.protocol.port.LoopTimer;
import dev.berth.protocol.port.ReplicaDirectory;
import dev.berth.protocol.port.TickTimer;
import dev.berth.replica.BodyMemoryLimits;
import dev.berth.replica.HandlerPorts;
import dev.berth.replica.ReplicaLimits;
import dev.berth.replica.hooks.HookThreads;
import dev.berth.replica.slots.LedgerLimits;
import dev.berth.replica.threads.InstanceHandlerThreads;
import dev.berth.routing.LoopLimits;
import dev.berth.routing.Routers;
import dev.berth.routing.slots.InstanceQueueLimits;
import dev.berth.view.ExplanationConsumer;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A data plane of a test's ports; what a test does not say is as plain as can be. */
public final class PlaneBuilder {
  /** For handlers that ask for no delay. */
  public static final LoopTimer NO_TIMER =
      (delay, task) -> {
        throw new AssertionError("timer: asked for (expected: no handler delays)");
      };

  /** The documented defaults. */
  public static InstanceLimits defaults() {
    return limits(ReplicaLimits.DEFAULTS, bodyBounds(), instanceBounds());
  }

  public static BodyMemoryLimits bodyBounds() {
    return new BodyMemoryLimits(256 << 10, 64L << 20, 256L << 20);
  }

  public static InstanceQueueLimits instanceBounds() {
    return new InstanceQueueLimits(10_000, 64L << 20, 64L << 20);
  }

  /** All hooks on one executor. */
  public static HookThreads hooks(Executor executor) {
    return (application, kind, task) -> {
      executor.execute(task);
      return () -> {};
    };
  }

  public static InstanceLimits limits(
      ReplicaLimits replica, BodyMemoryLimits bodies, InstanceQueueLimits instance) {
    return new InstanceLimits(
        replica, LedgerLimits.DEFAULTS, bodies, instance, LoopLimits.DEFAULTS);
  }

  private final String node;
  private final LongSupplier clock;
  private final BusSender bus;
  private final AtomicLong secrets = new AtomicLong();
  private final List<LoopDependencies> loops = new ArrayList<>();
  private @Nullable String zone;
  private Executor blocking = task -> new Thread(task).start();
  private InstantSource wallClock = InstantSource.fixed(Instant.EPOCH);
  private HandlerPorts handlers = handlers(hooks(Runnable::run));
  private ExplanationConsumer explained = ExplanationConsumer.NONE;
  private InstanceLimits limits = defaults();

  public PlaneBuilder(String node, LongSupplier clock, BusSender bus) {
    this.node = node;
    this.clock = clock;
    this.bus = bus;
  }

  /** Handlers with threads as in the server. */
  public static HandlerPorts handlers(HookThreads hooks) {
    return new HandlerPorts(
        hooks, new InstanceHandlerThreads(1_000, InstanceHandlerThreads.IDLE_MILLIS));
  }

  /** Timers of the event loop that starts them. */
  public static LoopTimer timer(Vertx vertx) {
    return (delay, task) -> {
      long millis = Math.max(1, TimeUnit.NANOSECONDS.toMillis(delay + 999_999));
      long id = vertx.setTimer(millis, fired -> task.run());
      return () -> vertx.cancelTimer(id);
    };
  }

  /** One more event loop, whose chance its index seeds. */
  public PlaneBuilder loop(Executor executor, BooleanSupplier inLoop) {
    return loop(executor, inLoop, NO_TIMER);
  }

  /** Sets the threads for work that would block the next loops. */
  public PlaneBuilder blocking(Executor threads) {
    blocking = threads;
    return this;
  }

  public PlaneBuilder loop(Executor executor, BooleanSupplier inLoop, LoopTimer timer) {
    return loop(
        new LoopDependencies(
            loopOf(executor, inLoop, blocking),
            timer,
            new TickTimer(timer, clock),
            bus,
            clock,
            new SplittableRandom(loops.size() + 1)));
  }

  /** What takes tasks, and knows when it runs them. */
  public static LoopExecutor loopOf(Executor executor, BooleanSupplier inLoop) {
    return loopOf(executor, inLoop, task -> new Thread(task).start());
  }

  private static LoopExecutor loopOf(Executor executor, BooleanSupplier inLoop, Executor blocking) {
    return new LoopExecutor() {
      @Override
      public void execute(Runnable task) {
        executor.execute(task);
      }

      @Override
      public boolean isHere() {
        return inLoop.getAsBoolean();
      }

      @Override
      public <T> Future<T> callBlocking(String application, Callable<T> work) {
        Promise<T> done = Promise.promise();
        blocking.execute(
            () -> {
              try {
                T result = work.call();
                executor.execute(() -> done.complete(result));
              } catch (Exception failed) {
                executor.execute(() -> done.fail(failed));
              }
            });
        return done.future();
      }
    };
  }

  public PlaneBuilder loop(LoopDependencies ports) {
    loops.add(ports);
    return this;
  }

  public PlaneBuilder zone(@Nullable String in) {
    zone = in;
    return this;
  }

  public PlaneBuilder wallClock(InstantSource shows) {
    wallClock = shows;
    return this;
  }

  public PlaneBuilder handlers(HandlerPorts given) {
    handlers = given;
    return this;
  }

  public PlaneBuilder explained(ExplanationConsumer into) {
    explained = into;
    return this;
  }

  public PlaneBuilder limits(InstanceLimits bounds) {
    limits = bounds;
    return this;
  }

  private InstanceDependencies ports() {
    return new InstanceDependencies(
        node,
        77,
        zone,
        loops,
        bus,
        clock,
        wallClock,
        new SplittableRandom(9),
        secrets::incrementAndGet);
  }

  public DataPlane plane() {
    return new DataPlane(ports(), handlers, explained, limits);
  }

  /** The routers alone, before replicas that the test plays. */
  public Routers routers(ReplicaDirectory replicas) {
    return DataPlane.routers(ports(), replicas, explained, limits);
  }
}
