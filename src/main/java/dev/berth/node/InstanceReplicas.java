package dev.berth.node;

import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.HandlerFactory;
import dev.berth.config.Backpressure;
import dev.berth.config.DeploymentSettings;
import dev.berth.config.Spread;
import dev.berth.controller.ControllerAction.Configure;
import dev.berth.controller.ControllerAction.Forget;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.DeploymentTarget;
import dev.berth.metrics.Meters;
import dev.berth.metrics.MetricsPusher;
import dev.berth.metrics.Registration;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.replica.HealthCheckSettings;
import dev.berth.replica.Replica;
import dev.berth.replica.ReplicaHost;
import dev.berth.replica.ReplicaLoop;
import dev.berth.replica.ReplicaSeat;
import dev.berth.replica.ReplicaSpec;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RouterSettings;
import dev.berth.routing.Routers;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts and stops replicas on this instance as the controller commands, and tells it what came of
 * it. Belongs to the control loop, unless a method says otherwise.
 */
public final class InstanceReplicas {
  private static final Logger LOG = LoggerFactory.getLogger(InstanceReplicas.class);

  private record Running(Replica replica, LoadedApplication code, Registration shown) {}

  private record Configured(
      DeploymentTarget target, Registration inMeters, Registration inPusher) {}

  private final ReplicaHost host;
  private final Routers routers;
  private final Builds builds;
  private final IntFunction<ReplicaLoop> loops;
  private final Meters meters;
  private final MetricsPusher pusher;
  private final LongSupplier nanoClock;
  private final LongSupplier epochs;
  private final long maxReservationTtlNanos;
  private final ReplicaPlacement placement;
  private final UnaryOperator<String> prefixes;
  private final Consumer<ControllerEvent> controller;

  private final Map<DeploymentId, Configured> configured = new HashMap<>();
  private final Map<String, Running> running = new ConcurrentHashMap<>();
  private @Nullable Long drainStartedNanos; // of the whole instance

  /**
   * @param loops the replica loop of an index; asked once they run
   * @param loopCount how many there are
   * @param epochs another number for each replica
   * @param maxReservationTtlNanos what callers may ask for at most
   * @param prefixes where an application answers, by its name, or empty; any thread
   * @param controller told of what happens; any thread
   */
  public InstanceReplicas(
      ReplicaHost host,
      Routers routers,
      Builds builds,
      IntFunction<ReplicaLoop> loops,
      int loopCount,
      Meters meters,
      MetricsPusher pusher,
      LongSupplier nanoClock,
      LongSupplier epochs,
      long maxReservationTtlNanos,
      UnaryOperator<String> prefixes,
      Consumer<ControllerEvent> controller) {
    this.host = host;
    this.routers = routers;
    this.builds = builds;
    this.loops = loops;
    this.meters = meters;
    this.pusher = pusher;
    this.nanoClock = nanoClock;
    this.epochs = epochs;
    this.maxReservationTtlNanos = maxReservationTtlNanos;
    this.placement = new ReplicaPlacement(loopCount);
    this.prefixes = prefixes;
    this.controller = controller;
  }

  /** Makes the router of a deployment, so that snapshots find it, or gives it other settings. */
  public void configure(Configure command) {
    DeploymentTarget target = command.target();
    DeploymentId id = target.id();
    RouterSettings settings = routerSettings(target.settings());
    DeploymentRouter router = routers.router(id, settings);
    router.configure(settings);
    Configured before = configured.get(id);
    if (before == null) {
      var source = MetricSources.of(router, () -> prefixes.apply(id.application()));
      configured.put(id, new Configured(target, meters.addHandle(source), pusher.register(source)));
    } else {
      configured.put(id, new Configured(target, before.inMeters(), before.inPusher()));
    }
  }

  /** A deployment is gone. */
  public void forget(Forget command) {
    forget(command.deployment());
  }

  private void forget(DeploymentId id) {
    Configured gone = configured.remove(id);
    if (gone != null) {
      gone.inMeters().close();
      gone.inPusher().close();
    }
  }

  /** The router of a deployment that was configured. */
  public DeploymentRouter router(DeploymentId id) {
    return routers.router(id, routerSettings(settings(id)));
  }

  /** What a deployment was last configured with. */
  public DeploymentSettings settings(DeploymentId id) {
    Configured known = configured.get(id);
    if (known == null) {
      throw new IllegalArgumentException("deployment: " + id + " (expected: a known one)");
    }
    return known.target().settings();
  }

  private RouterSettings routerSettings(DeploymentSettings settings) {
    Backpressure refusal = settings.backpressure();
    Duration retryAfter = refusal.retryAfter();
    return new RouterSettings(
        settings.maxQueuedRequests(),
        settings.queueTimeout().toNanos(),
        settings.reservationTtl().toNanos(),
        maxReservationTtlNanos,
        refusal.statusCode(),
        retryAfter == null ? -1 : (int) retryAfter.toSeconds());
  }

  // --- commands ---

  public void start(StartReplica command) {
    DeploymentTarget target = command.target();
    DeploymentId id = target.id();
    DeploymentSettings settings = target.settings();
    LoadedApplication application = builds.acquire(id.application(), target.build());
    if (application == null) {
      controller.accept(
          new ControllerEvent.ReplicaFailed(
              command.replicaId(), "build: " + target.build() + " (expected: a known one)"));
      return;
    }
    boolean spread = settings.spread() == Spread.EVENT_LOOPS;
    List<ReplicaSeat> seats =
        placement.place(spread).stream()
            .map(loops::apply)
            .map(loop -> new ReplicaSeat(loop, name -> handle(application, name, loop.index())))
            .toList();
    ReplicaSpec spec =
        new ReplicaSpec(
            command.replicaId(),
            id,
            epochs.getAsLong(),
            settings.maxOngoingRequests(),
            settings.userConfig(),
            underLoader(application.deployment(id).factory(), application.classLoader()),
            host.limits()
                .withZombies(settings.cancelGrace().toNanos(), settings.maxZombieRequests())
                .withMaxBufferedBody(settings.maxBufferedBodyBytes()),
            new HealthCheckSettings(
                settings.healthCheckPeriod().toNanos(),
                settings.healthCheckTimeout().toNanos(),
                HealthCheckSettings.FAILURES));
    host.start(spec, seats)
        .onComplete(
            replica -> runs(replica, spread, application),
            thrown -> {
              builds.release(application);
              failed(command.replicaId(), id, thrown);
            });
  }

  /** User code expects its own loader as the thread's, as libraries look services up there. */
  private static HandlerFactory underLoader(HandlerFactory factory, @Nullable ClassLoader loader) {
    if (loader == null) {
      return factory;
    }
    return replica -> {
      Thread thread = Thread.currentThread();
      ClassLoader before = thread.getContextClassLoader();
      thread.setContextClassLoader(loader);
      try {
        return factory.create(replica);
      } finally {
        thread.setContextClassLoader(before);
      }
    };
  }

  /** A handle for user code on a serving loop. Any thread. */
  private DeploymentHandle handle(LoadedApplication application, String name, int loop) {
    DeploymentId id = application.id(name);
    DeploymentSettings settings = application.settings().get(id);
    if (settings == null) {
      throw new IllegalArgumentException(
          "deployment: " + name + " (expected: one of application " + application.name() + ")");
    }
    return routers.handle(id, routerSettings(settings), loop);
  }

  private void runs(Replica replica, boolean spread, LoadedApplication code) {
    ReplicaInfo info =
        new ReplicaInfo(
            replica.replicaId(),
            replica.deployment(),
            replica.address(),
            replica.slots().maxOngoing(),
            true,
            spread,
            null,
            OptionalInt.empty(),
            null,
            Map.of());
    running.put( // on the replica's loop
        replica.replicaId(), new Running(replica, code, show(replica)));
    controller.accept(new ControllerEvent.ReplicaRunning(info));
  }

  private Registration show(Replica replica) {
    String application = replica.deployment().application();
    Registration own =
        meters.addReplica(MetricSources.of(replica, () -> prefixes.apply(application)));
    Registration users = meters.addUserMeters(replica.meters());
    return () -> {
      own.close();
      users.close();
    };
  }

  private void failed(String replicaId, DeploymentId id, Throwable thrown) {
    LOG.error("replica {} did not start", replicaId, thrown);
    controller.accept(
        new ControllerEvent.ReplicaFailed(
            replicaId, "deployment " + id.name() + ": " + StartFailedException.describe(thrown)));
  }

  public void stop(StopReplica command) {
    Running replica = running.remove(command.replicaId());
    if (replica == null) {
      return; // commanded twice
    }
    replica
        .replica()
        .shutDown(left(command.grace()))
        .onComplete(
            stopped -> {
              replica.shown().close();
              builds.release(replica.code());
              controller.accept(new ControllerEvent.ReplicaStopped(command.replicaId()));
            });
  }

  /** What is left of a grace: a drain of the instance has used some of it. */
  private Duration left(Duration grace) {
    Long since = drainStartedNanos;
    if (since == null) {
      return grace;
    }
    Duration left = grace.minusNanos(nanoClock.getAsLong() - since);
    return left.isNegative() ? Duration.ZERO : left;
  }

  /** The instance drains from now on: the graces of its deployments run. */
  void drainStarts() {
    drainStartedNanos = nanoClock.getAsLong();
  }

  /** The longest grace of all deployments. */
  Duration longestGrace() {
    return configured.values().stream()
        .map(each -> each.target().settings().gracefulShutdownTimeout())
        .max(Duration::compareTo)
        .orElse(Duration.ZERO);
  }

  /** Takes the handles out of the meters; the pusher then sends a final zero of each. */
  void removeHandles() {
    List.copyOf(configured.keySet()).forEach(this::forget);
  }
}
