package dev.berth.testkit;

import dev.berth.api.DeploymentId;
import dev.berth.code.BuildCache;
import dev.berth.code.LoadedApplication;
import dev.berth.code.PolicyInvoker;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.InstanceOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.MetricsOptions;
import dev.berth.config.keys.Settings;
import dev.berth.controller.Controller;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerPorts;
import dev.berth.controller.DeclaredApplication;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.Epoch;
import dev.berth.metrics.MeterRegistration;
import dev.berth.metrics.MetricsPusher;
import dev.berth.metrics.MetricsPusher.ReportIntervals;
import dev.berth.node.DataPlane;
import dev.berth.node.InstanceLimits;
import dev.berth.node.InstanceRankers;
import dev.berth.node.InstanceReplicas;
import dev.berth.node.InstanceRouters;
import dev.berth.node.ReplicaSource;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.InstanceDependencies;
import dev.berth.protocol.port.LoopDependencies;
import dev.berth.protocol.port.LoopTimer;
import dev.berth.protocol.port.TickTimer;
import dev.berth.replica.HandlerPorts;
import dev.berth.replica.Replica;
import dev.berth.routing.DeploymentRouter;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.ExplanationConsumer;
import dev.berth.view.ReplicaPhase;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * An instance wired like a node, except that its loops, its clock, its bus and its random
 * generators belong to the test. Confined to the thread of the test.
 */
final class TestInstance {
  private static final String NODE = "test";
  private static final long SWEEP_NANOS = 100_000_000; // interval of the server's sweeps

  /** Real time after which a hook with a pending call counts as waiting for that call. */
  private static final long HOOK_WAITS_NANOS = 50_000_000;

  final TestTime time = new TestTime();
  final TestLoops loops;
  final TestThreads threads;
  final TestBus bus = new TestBus(NODE);
  final ThrownByHandlers thrown = new ThrownByHandlers();
  final DataPlane plane;
  final BuildCache builds;
  final InstanceRouters deployments;
  final InstanceReplicas replicas;
  private final List<TestLoops.Loop> serving = new ArrayList<>();
  private final TestLoops.Loop control;
  private final Epoch epoch = new Epoch(0, 1, NODE);
  private final Controller controller;
  private final PolicyInvoker policies;
  private final MetricsPusher pusher;
  private final long sampleNanos;
  private final Set<String> started = new HashSet<>(); // ids of replicas
  // replicas that may still start
  private final Map<DeploymentId, Integer> places = new HashMap<>();
  // starts that wait for the test
  private final Map<String, StartReplica> held = new LinkedHashMap<>();
  final Map<String, String> failures = new ConcurrentHashMap<>(); // by application
  private final long patienceNanos; // real time
  private long nextTick = TickTimer.TICK_NANOS;
  private long nextSweep = SWEEP_NANOS;
  private long nextSample;

  TestInstance(long seed, Duration patience, Settings options) {
    int eventLoops = options.get(InstanceOptions.EVENT_LOOPS);
    patienceNanos = patience.toNanos();
    SplittableRandom random = new SplittableRandom(seed);
    loops = new TestLoops(random.split());
    threads = new TestThreads(loops);
    control = loops.add();
    AtomicLong replicaNumbers = new AtomicLong();
    Random secrets = new Random(random.split().nextLong()); // thread-safe
    List<LoopDependencies> ports = new ArrayList<>();
    for (int index = 0; index < eventLoops; index++) {
      TestLoops.Loop loop = loops.add();
      serving.add(loop);
      LoopTimer timer = (delay, task) -> time.start(loop, delay, task);
      ports.add(
          new LoopDependencies(loop, timer, new TickTimer(timer, time), bus, time, random.split()));
    }
    plane =
        new DataPlane(
            new InstanceDependencies(
                NODE,
                random.nextLong(),
                null,
                ports,
                bus,
                time,
                time,
                random.split(),
                secrets::nextLong),
            new HandlerPorts(threads, threads::handlerThreads),
            ExplanationConsumer.NONE,
            InstanceLimits.of(options));
    for (int index = 0; index < eventLoops; index++) {
      TestLoops.Loop loop = serving.get(index);
      plane.receive(index, (address, receiver) -> bus.consume(address, loop, receiver));
    }
    sampleNanos = options.get(MetricsOptions.RECORD_INTERVAL_MS).toNanos();
    ReportIntervals rhythm = // reports a request for a first replica without delay
        new ReportIntervals(Duration.ZERO, options.get(MetricsOptions.PUSH_INTERVAL_MS));
    pusher =
        new MetricsPusher(NODE, 1, rhythm, rhythm, MetricsPusher.DEFAULT_MAX_REPORT_BYTES, time);
    pusher.onSignal(() -> control.execute(() -> push(pusher.signalBatch())));
    builds =
        new BuildCache(
            threads,
            control,
            (application, revision) -> null, // the test supplies all builds
            this::tell,
            code -> {});
    deployments =
        new InstanceRouters(
            plane.routers,
            new InstanceRankers(threads, control, builds, time),
            options.get(LimitOptions.MAX_RESERVATION_TTL_S).toNanos(),
            this::show);
    policies = new PolicyInvoker(threads, control, builds, this::tell, time);
    replicas =
        new InstanceReplicas(
            plane,
            deployments,
            builds,
            this::show,
            control,
            new AtomicLong(random.nextLong(1L << 32))::incrementAndGet,
            this::tell) {
          @Override
          public void onHandlerFailed(Replica replica, Throwable cause) {
            thrown.add(replica.replicaId(), cause);
          }
        };
    controller =
        new Controller(
            new ControllerPorts(
                epoch,
                deployment -> deployment + "#" + replicaNumbers.incrementAndGet(),
                replicas::ongoing,
                random.split()::nextDouble,
                time::millis,
                Controller.MIN_SILENCE_NANOS,
                0,
                DeploymentConfig::ofRay));
  }

  // --- the control plane ---

  private MeterRegistration show(DeploymentRouter router) {
    router.whenWanted(() -> pusher.signal(router.deployment()));
    return pusher.register(router);
  }

  private MeterRegistration show(Replica replica) {
    return pusher.registerReplica(
        new ReplicaSource(replica, deployments.router(replica.deployment())));
  }

  /** Reports handle metrics to the controller, as the server does at each push interval. */
  private void push(@Nullable HandleMetricBatch batch) {
    if (batch != null) {
      controller.on(batch, time.getAsLong()).forEach(this::apply);
      pusher.onSettled(batch.sequence(), epoch.number());
    }
  }

  private void tell(ControllerEvent event) {
    if (event instanceof ControllerEvent.ReplicaFailed failed) { // the server would retry
      String id = failed.replicaId();
      failures.putIfAbsent(id.substring(0, id.indexOf('#')), failed.reason());
    }
    control.execute(() -> controller.on(event, time.getAsLong()).forEach(this::apply));
  }

  private void apply(ControllerAction action) {
    if (action instanceof ControllerAction.StartReplica start) {
      startOrHold(start);
    } else if (action instanceof ControllerAction.ReconfigureReplica reconfigure) {
      replicas.reconfigure(reconfigure);
    } else if (action instanceof ControllerAction.StopReplica stop) {
      held.remove(stop.replicaId());
      replicas.stop(stop);
    } else if (action instanceof ControllerAction.Publish publish) {
      publish(publish.snapshot());
    } else if (action instanceof ControllerAction.Build build) {
      builds.build(build);
    } else if (action instanceof ControllerAction.Configure configure) {
      DeploymentTarget target = configure.target();
      places.putIfAbsent(target.id(), target.settings().get(DeploymentConfig.NUM_REPLICAS));
      deployments.configure(target);
    } else if (action instanceof ControllerAction.Rescale rescale && rescale.decision() != null) {
      int from = rescale.decision().inputs().fleet().target();
      places.merge(
          rescale.deployment(), Math.max(0, rescale.decision().replicas() - from), Integer::sum);
    } else if (action instanceof ControllerAction.AskPolicy ask) {
      policies.invoke(ask);
    } else if (action instanceof ControllerAction.Forget forget) {
      deployments.forget(forget.deployment());
    }
  }

  /** Starts a deployment's wanted replicas; replacements of lost ones wait for the test. */
  private void startOrHold(StartReplica start) {
    DeploymentId deployment = start.target().id();
    int left = places.getOrDefault(deployment, 0);
    if (!started.contains(start.replicaId()) && left > 0) {
      places.put(deployment, left - 1);
      started.add(start.replicaId());
    }
    if (started.contains(start.replicaId())) {
      replicas.start(start);
    } else {
      held.put(start.replicaId(), start);
    }
  }

  /**
   * Publishes a snapshot. A deployment without replicas is unavailable while its replacements are
   * held, so that requests do not wait for them.
   */
  private void publish(RoutingSnapshot snapshot) {
    DeploymentId deployment = snapshot.deployment();
    boolean comes =
        !snapshot.replicas().isEmpty()
            || held.values().stream().noneMatch(start -> start.target().id().equals(deployment));
    boolean available = snapshot.available() && comes;
    RoutingSnapshot told =
        new RoutingSnapshot(deployment, snapshot.version(), available, snapshot.replicas());
    plane.routers.update(told);
  }

  /**
   * Starts the held replicas.
   *
   * @return false when a replica did not start in time
   */
  boolean replace() {
    failures.clear();
    control.execute(
        () -> {
          started.addAll(held.keySet());
          List<StartReplica> starts = List.copyOf(held.values());
          held.clear();
          starts.forEach(replicas::start);
        });
    return runUntil(
        () ->
            replicas.inventory().stream().noneMatch(each -> each.phase() == ReplicaPhase.STARTING),
        () -> false);
  }

  /** Starts an application's replicas; later tasks report the results. */
  void declare(LoadedApplication application) {
    BuildCache.LoadedRevision read =
        new BuildCache.LoadedRevision(application, application.built());
    BuildCache.PendingLoad reading =
        new BuildCache.PendingLoad(application.config(), Future.succeededFuture(read));
    control.execute(() -> builds.readEarly(reading));
    tell(
        new ControllerEvent.Declared(
            DeclaredApplication.of(
                application.name(), 1, application.config().routePrefix(), "{}", time.millis())));
  }

  /** Drains an application's replicas and stops them. */
  void withdraw(String application) {
    tell(new ControllerEvent.Withdrawn(application));
  }

  /** Returns the status of an application; null when there is none. */
  @Nullable ApplicationStatus status(String application) {
    return controller.applications().get(application);
  }

  void stop(Replica replica) {
    Duration grace =
        deployments
            .settings(replica.deployment())
            .get(DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S);
    control.execute(
        () ->
            replicas.stop(
                new ControllerAction.StopReplica(
                    epoch, epoch.node(), replica.replicaId(), grace, "the test wants it so")));
  }

  /** Ends a replica, which accepts and completes nothing more. Routers detect this as they run. */
  void kill(Replica replica) {
    replica.kill();
    tell(new ControllerEvent.ReplicaDraining(replica.replicaId()));
    stop(replica);
  }

  // --- tasks and time ---

  /** Runs all ready tasks, and waits for hooks. */
  void run() {
    while (!runUntil(() -> !threads.hooksRun(), () -> false)) {
      threads.abandonHooks(); // the wait for an endless hook occurs once
    }
  }

  /**
   * Runs ready tasks, and waits for work on real threads, until a condition holds.
   *
   * @param hopeless returns whether no running work can make the condition hold
   * @return false when the condition is hopeless, or the patience is exhausted
   */
  boolean runUntil(BooleanSupplier done, BooleanSupplier hopeless) {
    long left = patienceNanos;
    boolean hookWaits = false;
    for (; ; ) {
      loops.run();
      threads.beginHook();
      if (done.getAsBoolean()) {
        return true;
      }
      if (left <= 0 || hopeless.getAsBoolean()) {
        return false;
      }
      long slice = Math.min(left, HOOK_WAITS_NANOS);
      long rest = loops.awaitChange(slice);
      left -= slice - rest;
      if (rest > 0) {
        continue;
      }
      if (hookWaits) {
        threads.overtake(); // the hook may wait for a result of the next one
      }
      hookWaits |= loops.deliverHeld();
    }
  }

  /** Returns whether no user code runs: only the clock or the test can cause further events. */
  boolean nothingRuns() {
    // A thread adds its last task before it ends, so the threads are checked first.
    return threads.isIdle()
        && loops.isIdle()
        && IntStream.range(0, plane.loops())
            .allMatch(loop -> plane.replicas(loop).invocations() == 0);
  }

  /**
   * Advances the clock: timers fire at their exact time, loops tick and leases are swept in
   * between.
   */
  void advance(Duration by) {
    run();
    long end = Math.addExact(time.getAsLong(), by.toNanos());
    for (long now = time.getAsLong(); now < end; ) {
      now = Math.min(Math.min(nextTick, time.next()), end);
      time.moveTo(now);
      if (now >= nextTick || now == end) {
        tick();
      }
      if (now >= nextSweep || now == end) {
        control.execute(this::upkeep);
        nextSweep = (now / SWEEP_NANOS + 1) * SWEEP_NANOS;
      }
      run();
    }
  }

  private void wake() {
    if (controller.nextWakeNanos() <= time.getAsLong()) {
      controller.wake(time.getAsLong()).forEach(this::apply);
    }
  }

  private void upkeep() {
    plane.host.sweep(0, 1, mismatch -> {});
    plane.host.tick();
  }

  private void tick() {
    nextTick = (time.getAsLong() / TickTimer.TICK_NANOS + 1) * TickTimer.TICK_NANOS;
    control.execute(this::wake);
    if (time.getAsLong() >= nextSample) {
      nextSample = time.getAsLong() + sampleNanos;
      control.execute(pusher::sampleReplicas);
      control.execute(() -> push(pusher.tick()));
    }
    for (int index = 0; index < serving.size(); index++) {
      int each = index;
      serving.get(index).execute(() -> plane.tickExactly(each));
    }
  }
}
