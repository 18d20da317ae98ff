package dev.berth.simulation;

import dev.berth.api.DeploymentId;
import dev.berth.code.BuildCache;
import dev.berth.code.StartFailedException;
import dev.berth.controller.Controller;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerAction.CommandTo;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.ControllerPorts;
import dev.berth.controller.Epoch;
import dev.berth.desired.SimulatedDisk;
import dev.berth.fakes.PlaneBuilder;
import dev.berth.node.SimulatedProcess;
import dev.berth.node.SimulatedProcess.Instance;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.replica.hooks.HookThreads;
import dev.berth.routing.feed.RoutingFeed;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentStatus;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What ships of a lifecycle, from the command to the replica: commands, their journal on a disk,
 * the controller, its publisher and a router's feed, builds, and replicas with their hooks, while
 * applications are declared, changed and deleted, hooks hang, disks fail, replicas, controllers and
 * whole processes die. First ten rough minutes, then a calm in which everything must come to be as
 * it was declared last.
 *
 * <p>Of three seeds one is an instance as it ships, which does at once what its controller wants;
 * in the others three instances are a cluster, on a network that loses, doubles, delays and
 * reorders, and come and go.
 */
final class LifecycleSimulation {
  private static final long ROUGH_NANOS = TimeUnit.MINUTES.toNanos(10);
  private static final long CALM_NANOS = TimeUnit.MINUTES.toNanos(50);
  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** Of so many seeds one has more lives. */
  private static final int MEASURED_EACH = 10;

  /** Wakes at one time after which a controller counts as spinning. */
  private static final int MAX_WAKES_AT_ONCE = 100;

  /** What a run came to. */
  record Result(
      long events,
      long hash,
      EnumMap<LifecycleFault, Integer> faults,
      Map<DeploymentStatus, Long> statuses,
      Map<String, Long> counts)
      implements SeededRuns.Result {}

  final World world;
  final SplittableRandom random;
  private final SplittableRandom network;
  private final SplittableRandom chances;
  private final Path folder;
  final boolean alone; // one instance, as it ships
  private final int lossPercent;
  private final int latePercent;
  private boolean rough = true;

  final String run;
  final SimulatedDisk disk;
  final LifecycleHooks hooks;
  final LifecycleCommands commands;
  int versions;

  private SimulatedThreads threads;
  private SimulatedThreads hangingChecks;
  private SimulatedLoop control;
  private SimulatedLoop serving;
  @Nullable SimulatedProcess process;
  private @Nullable RoutingFeed feed; // of the first instance
  final Map<String, Link> links = new LinkedHashMap<>();
  int codeMillis; // added to each transfer of code by a script
  final Map<String, Link> cutOff = new LinkedHashMap<>(); // of who lives and is thought to be lost
  final LifecycleNodes nodes;
  final Map<String, DeploymentId> routes = new TreeMap<>();
  final LifecycleWatch watch;
  final EnumMap<LifecycleFault, Integer> faults = new EnumMap<>(LifecycleFault.class);
  private final Map<String, Long> counts = new TreeMap<>();
  @Nullable Controller controller;
  private @Nullable Controller replaced; // and does not know of it
  private final Map<DeploymentId, Integer> wanted = new LinkedHashMap<>(); // by the feed
  private long lastTerm;
  private int told;
  private int replicas;
  private long armedNanos = Long.MAX_VALUE;
  private int wakes;
  private long wokenNanos;

  /** The network of an instance. */
  static final class Link {
    long blockedUntilNanos; // since the start: nothing arrives or leaves before
    boolean isDown; // what is said and commanded meanwhile, the next inventory tells
    private long saidNanos; // since the start: when the last of what it tells by itself arrives
    private long inventoryNanos; // since the start: when its last inventory arrives
    private final Set<String> toldToStop = new LinkedHashSet<>();
  }

  private LifecycleSimulation(long seed, Path folder) {
    world = new World(seed);
    this.folder = folder;
    run = "seed-" + seed;
    random = world.randomness();
    network = world.randomness();
    chances = world.randomness();
    alone = seed % 3 == 0;
    boolean orderly = seed % 4 == 0;
    lossPercent = orderly ? 0 : network.nextInt(15);
    latePercent = orderly ? 0 : network.nextInt(10);
    SplittableRandom slow = world.randomness();
    disk =
        new SimulatedDisk(
            () -> {
              if (threads.isCurrent()) {
                diskTakes(slow.nextInt(rough && slow.nextInt(20) == 0 ? 5_000 : 10));
              }
            });
    hooks = new LifecycleHooks(world, () -> rough, () -> hangingChecks.isCurrent());
    commands = new LifecycleCommands(this);
    watch = new LifecycleWatch(world);
    nodes = new LifecycleNodes(this);
    threads = new SimulatedThreads(world, "thread");
    hangingChecks = new SimulatedThreads(world, "check");
    control = new SimulatedLoop(world, "n1", -1);
    serving = new SimulatedLoop(world, "n1", 0);
  }

  private static void diskTakes(long millis) {
    try {
      SimulatedThreads.pause(millis(millis), false);
    } catch (InterruptedException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  /**
   * @param folder an empty directory, in which nothing is written
   */
  static Result run(long seed, Path folder) {
    return run(seed, folder, null);
  }

  /**
   * @param script schedules what happens; null for what the seed draws
   */
  static Result run(long seed, Path folder, @Nullable Consumer<LifecycleSimulation> script) {
    LifecycleSimulation simulation = new LifecycleSimulation(seed, folder);
    LifecycleUserCode.RUNS.put(simulation.run, simulation.hooks);
    try {
      return simulation.world.told(
          seed,
          "LifecycleSimulationTest",
          "simulation.lifecycle.seed",
          () -> simulation.run(script));
    } finally {
      LifecycleUserCode.RUNS.remove(simulation.run);
      simulation.halt();
    }
  }

  private Result run(@Nullable Consumer<LifecycleSimulation> script) {
    LifecycleFaults driver = new LifecycleFaults(this);
    processStarts();
    if (script == null) {
      driver.begin();
    } else {
      script.accept(this);
    }
    tick();
    runUntil(ROUGH_NANOS);
    rough = false;
    runUntilCommandsAreDone();
    if (script == null) {
      driver.end();
      runUntilCommandsAreDone();
    }
    LifecycleEnd end = new LifecycleEnd(this);
    runUntil(ROUGH_NANOS + CALM_NANOS / 10);
    commands.store().values().stream().filter(this::hasFailed).forEach(commands::declare);
    runUntil(ROUGH_NANOS + CALM_NANOS);
    end.check();
    if (script == null && world.seed % MEASURED_EACH == 5) {
      new LifecycleSecondLife(this).run();
      count("lives measured", 1);
    }
    harvest();
    return new Result(world.ran(), world.hash(), faults, watch.statuses, counts);
  }

  /** Though it is good: what crashed from outside while it was on trial was held against it. */
  private boolean hasFailed(LifecycleCode code) {
    ApplicationDetails details = controller == null ? null : controller.details(code.application());
    if (details == null || details.status() != ApplicationStatus.DEPLOY_FAILED) {
      return false;
    }
    Set<String> failed = new HashSet<>();
    details.deployments().stream()
        .filter(each -> each.status() == DeploymentStatus.DEPLOY_FAILED)
        .forEach(each -> failed.add(each.name()));
    return code.parts().stream().allMatch(LifecycleCode.Part::isGood)
        || code.parts().stream().anyMatch(each -> each.isGood() && failed.contains(each.name()));
  }

  private void runUntilCommandsAreDone() {
    while (!commands.areDone()) {
      world.step();
    }
  }

  private void runUntil(long elapsedNanos) {
    while (world.nextNanos() <= elapsedNanos) {
      world.step();
    }
  }

  boolean isRough() {
    return rough;
  }

  void count(LifecycleFault fault) {
    faults.merge(fault, 1, Integer::sum);
  }

  void count(String what, long times) {
    counts.merge(what, times, Long::sum);
  }

  static long millis(long millis) {
    return TimeUnit.MILLISECONDS.toNanos(millis);
  }

  // --- the process ---

  /**
   * @param powerCut what was written and not forced may be lost
   */
  void processDies(boolean powerCut) {
    world.note("process", powerCut ? "loses power" : "is killed");
    harvest();
    halt();
    if (powerCut) {
      disk.powerCut(random);
    } else {
      disk.killed();
    }
    process = null;
    controller = null;
    replaced = null;
    feed = null;
    wanted.clear();
    routes.clear();
    hooks.handlers.clear();
    world.after(millis(random.nextInt(20_000)), "process", this::processStarts);
  }

  private void halt() {
    control.halt();
    serving.halt();
    threads.halt();
    hangingChecks.halt();
  }

  private void harvest() {
    count("interrupted hooks", threads.interrupted() + hangingChecks.interrupted());
    SimulatedProcess own = process;
    if (own != null) {
      own.instances().forEach(each -> count("commands of an older term", each.refused()));
    }
  }

  void processStarts() {
    if (process != null) {
      return;
    }
    threads = new SimulatedThreads(world, "thread");
    hangingChecks = new SimulatedThreads(world, "check");
    control = new SimulatedLoop(world, "n1", -1);
    serving = new SimulatedLoop(world, "n1", 0);
    Object[] self = new Object[1];
    SimulatedThreads hooked = threads;
    SimulatedThreads hanging = hangingChecks;
    SimulatedLoop traffic = serving;
    BooleanSupplier elsewhere = // what happens to the process, its control loop sees at once
        () -> hooked.isCurrent() || hanging.isCurrent() || traffic.isHere();
    SimulatedProcess own =
        new SimulatedProcess(
            new SimulatedProcess.Around(
                world,
                PlaneBuilder.loopOf(control, () -> !elsewhere.getAsBoolean()),
                serving,
                threads,
                (application, kind, hook) -> runHook(kind, hook, hooked, hanging),
                world.randomness(),
                (node, event) -> {
                  if (process == self[0]) {
                    said(node, event);
                  }
                },
                (node, message) -> {
                  RoutingFeed to = feed;
                  if (to != null) {
                    to.on(message, world.getAsLong());
                  }
                },
                this::fetch),
            alone ? List.of("n1") : LifecycleNodes.FIRST,
            disk,
            folder,
            commands);
    self[0] = own;
    try {
      own.serve().open(List::of);
    } catch (StartFailedException failed) {
      world.note("process", "does not start: " + failed.getMessage());
      count("starts that failed", 1);
      halt();
      world.after(millis(random.nextInt(5_000)), "process", this::processStarts);
      return;
    }
    process = own;
    lastTerm = 0;
    feed =
        new RoutingFeed(
            "n1",
            world.seed,
            snapshot -> world.note("routed", snapshot.version().counter()),
            own::fromRouters,
            world.getAsLong());
    links.clear();
    cutOff.clear();
    own.instances().forEach(each -> links.put(each.node(), new Link()));
    nodes.processBegins();
    watch.processBegins();
    commands.processBegins(own);
    controllerBegins(own.serve().logged().term());
  }

  /** Few health checks take long, and the others need no thread. */
  private Runnable runHook(
      HookThreads.HookKind kind, Runnable hook, SimulatedThreads own, SimulatedThreads hanging) {
    boolean[] takenBack = new boolean[1];
    Runnable task =
        () -> {
          if (!takenBack[0]) {
            hook.run();
          }
        };
    if (kind != HookThreads.HookKind.HEALTH) {
      own.execute(task);
    } else if (rough && chances.nextInt(100) == 0) {
      hanging.execute(task);
    } else {
      world.after(chances.nextInt(1_000_000), "check", task);
    }
    return () -> takenBack[0] = true;
  }

  private void tick() {
    world.idle(
        TICK_NANOS,
        () -> {
          SimulatedProcess own = process;
          if (own != null) {
            control.execute(
                () -> {
                  world.discount();
                  own.instances().forEach(Instance::tick);
                });
          }
          tick();
        });
  }

  /** The control loop does nothing for a while. */
  void stall(long nanos) {
    control.stall(nanos);
  }

  // --- the controller ---

  /** As an operator's restart, or after a failure; or it goes on beside the one that follows. */
  void controllerDies() {
    boolean isCutOff = !alone && network.nextBoolean();
    world.note("controller", isCutOff ? "is cut off" : "dies");
    SimulatedProcess own = process;
    replaced = isCutOff ? controller : null;
    controller = null;
    world.after(
        millis(random.nextInt(20_000)),
        "controller",
        () -> {
          if (own != null && process == own && controller == null) {
            own.serve()
                .commands()
                .restartController()
                .onFailure(
                    notKept -> {
                      if (process == own && controller == null) {
                        controllerBegins(lastTerm + 1);
                      }
                    });
          }
        });
  }

  /** As the node's control plane has it begin. */
  void controllerBegins(long wantedTerm) {
    SimulatedProcess own = process;
    if (own == null) {
      return;
    }
    lastTerm = Math.max(wantedTerm, lastTerm + 1);
    Epoch epoch = new Epoch(0, lastTerm, "n1");
    world.note("controller", epoch.toString());
    for (Instance each : instances()) {
      each.hosted().forEach(hooks::requireThatItIsTold);
      count(
          "found in a reconfigure", each.hosted().stream().filter(it -> it.next() != null).count());
    }
    Controller next =
        new Controller(
            new ControllerPorts(
                epoch,
                deployment -> deployment + "#" + ++replicas,
                own.instances().get(0)::ongoing,
                chances::nextDouble,
                () -> TimeUnit.NANOSECONDS.toMillis(world.elapsedNanos()),
                Controller.MIN_SILENCE_NANOS,
                0,
                settings -> Map.of()));
    controller = next;
    armedNanos = Long.MAX_VALUE;
    watch.begins(epoch);
    own.begins(epoch.term());
    if (!alone) {
      nodes.controllerBegins();
    }
    next.recover(alone ? List.of("n1") : nodes.names(), world.getAsLong());
    own.serve().applications().forEach(each -> tell(new ControllerEvent.Declared(each)));
    own.declared();
    for (Instance instance : own.instances()) {
      if (alone) {
        tell(instance.inventory(epoch));
      } else if (links.containsKey(instance.node())) {
        tellInventory(instance);
      }
    }
  }

  /**
   * An instance tells the controller what it hosts, as it is now; what it tells later comes after
   * it.
   */
  void tellInventory(Instance instance) {
    Link link = links.get(instance.node());
    Controller asking = controller;
    Epoch epoch = watch.epoch;
    if (asking == null || epoch == null) {
      return; // the next one asks by itself
    }
    link.isDown = false;
    link.blockedUntilNanos = Math.min(link.blockedUntilNanos, world.elapsedNanos());
    ControllerEvent.Inventory found = instance.inventory(epoch);
    report(
        link,
        millis(network.nextInt(rough ? 4_000 : 10)),
        () -> {
          if (controller == asking && links.get(instance.node()) == link) {
            tell(found);
          }
        });
    link.inventoryNanos = link.saidNanos;
  }

  /** An instance by its name, which must be there. */
  Instance instance(String node) {
    return instances().stream().filter(each -> each.node().equals(node)).findFirst().orElseThrow();
  }

  /** Tells the controller, if there is one, and does what it asks for. */
  void tell(ControllerEvent event) {
    Controller own = controller;
    if (own == null) {
      return;
    }
    world.note("told", event.toString());
    watch.told(event);
    List<ControllerAction> asked = turn(() -> own.on(event, world.getAsLong()));
    boolean isOlder = !alone && event instanceof ControllerEvent.Inventory; // than what is asked
    if (++told % 4 == 0
        && !isOlder
        && asked.stream().noneMatch(ControllerAction.Build.class::isInstance)) {
      requireThatItIsSettled(own, event);
    }
    Controller before = replaced;
    SimulatedProcess here = process;
    if (rough && before != null && here != null && event instanceof ControllerEvent.OfReplica) {
      before.on(event, world.getAsLong()).forEach(action -> command(here, action));
    }
  }

  /** Told once more, it asks for nothing but what it may say to whom it does not know. */
  private void requireThatItIsSettled(Controller own, ControllerEvent again) {
    List<ControllerAction> more = own.on(again, world.getAsLong());
    if (!more.stream()
        .allMatch(each -> each instanceof StopReplica || each instanceof DiscardBuild)) {
      throw world.fail("told twice: " + again + ": " + more + " (expected: nothing more)");
    }
  }

  private List<ControllerAction> turn(Supplier<List<ControllerAction>> decide) {
    Controller own = controller;
    List<ControllerAction> actions = decide.get();
    watch.recovering &= actions.stream().noneMatch(ControllerAction.Recovered.class::isInstance);
    for (ControllerAction action : actions) {
      world.note("asks", action.toString());
      watch.asked(action);
    }
    watch.turnEnds();
    for (ControllerAction action : actions) {
      apply(action);
    }
    if (controller == own && own != null) {
      arm(own);
    }
    return actions;
  }

  private void arm(Controller own) {
    long next = own.nextWakeNanos();
    if (next == Long.MAX_VALUE || armedNanos - next <= 0) {
      return;
    }
    armedNanos = next;
    long late = rough && network.nextInt(10) == 0 ? millis(network.nextInt(200)) : 0;
    world.after(
        Math.max(0, next - world.getAsLong()) + late,
        "wake",
        () -> {
          if (controller == own && armedNanos == next) {
            armedNanos = Long.MAX_VALUE;
            woken();
            watch.told(new ControllerEvent.ReplicaHealth("", true, "")); // a turn of its own
            turn(() -> own.wake(world.getAsLong()));
          }
        });
  }

  private void woken() {
    wakes = world.elapsedNanos() == wokenNanos ? wakes + 1 : 0;
    wokenNanos = world.elapsedNanos();
    if (wakes > MAX_WAKES_AT_ONCE) {
      throw world.fail("wakes: " + wakes + " at once (expected: a controller that rests)");
    }
  }

  // --- what it asks for ---

  private void apply(ControllerAction action) {
    SimulatedProcess own = process;
    if (own == null) {
      return;
    }
    if (command(own, action)) {
      return;
    }
    own.instances().get(0).apply(action);
    RoutingFeed to = feed;
    if (action instanceof ControllerAction.Configure configure && to != null) {
      if (wanted.put(configure.target().id(), 1) == null) {
        to.want(configure.target().id(), world.getAsLong());
      }
    } else if (action instanceof ControllerAction.Forget forget && to != null) {
      own.instances().forEach(each -> each.forget(forget.deployment()));
      wanted.remove(forget.deployment());
      to.forget(forget.deployment());
    } else if (action instanceof ControllerAction.RouteTo route) {
      routes.put(route.application(), route.ingress());
    } else if (action instanceof ControllerAction.Unroute unroute) {
      routes.remove(unroute.application());
    }
  }

  // --- what is there ---

  List<Instance> instances() {
    SimulatedProcess own = process;
    return own == null ? List.of() : own.instances();
  }

  @Nullable Found hosted(String replicaId) {
    for (Instance instance : instances()) {
      for (Found found : instance.hosted()) {
        if (found.info().replicaId().equals(replicaId)) {
          return found;
        }
      }
    }
    return null;
  }

  /** Hooks that have not ended. */
  int busyThreads() {
    return threads.busy() + hangingChecks.busy();
  }

  // --- the network ---

  /** An instance asks the first one for code, and mostly has its answer soon. */
  private Future<BuildCache.BuildInputs> fetch(Supplier<BuildCache.@Nullable BuildInputs> asked) {
    Promise<BuildCache.BuildInputs> fetched = Promise.promise();
    SimulatedLoop asking = control;
    count("code fetched", 1);
    world.after(
        millis(codeMillis + network.nextInt(rough && network.nextInt(10) == 0 ? 15_000 : 50)),
        "code",
        () ->
            asking.execute(
                () -> {
                  BuildCache.BuildInputs source = asked.get();
                  if (source == null) {
                    fetched.fail(new StartFailedException("build: none (expected: one held)"));
                  } else {
                    fetched.complete(source);
                  }
                }));
    return fetched.future();
  }

  /** Sends what is for a replica; false for any other action. */
  private boolean command(SimulatedProcess own, ControllerAction action) {
    if (!(action instanceof CommandTo command)) {
      return false;
    }
    Link link = links.get(command.node());
    if (alone) {
      own.instances().get(0).apply(action);
    } else if (link != null && !link.isDown) {
      Instance instance = instance(command.node());
      for (int copies = copies(); copies > 0; copies--) {
        world.after(delay(link), "command", () -> arrives(own, link, instance, command));
      }
    }
    return true;
  }

  private void arrives(SimulatedProcess own, Link link, Instance instance, CommandTo command) {
    if (process != own || links.get(instance.node()) != link) {
      return;
    }
    if (command.epoch().term() < lastTerm) {
      requireThatItIsRefused(instance, command);
      return;
    }
    if (command instanceof StopReplica stop) {
      link.toldToStop.add(stop.replicaId());
    }
    instance.apply(command);
  }

  /** The controller that gave it was followed by one that knows what this instance hosts. */
  private void requireThatItIsRefused(Instance instance, ControllerAction late) {
    List<Found> before = instance.hosted();
    instance.apply(late);
    if (!instance.hosted().equals(before)) {
      throw world.fail("done: " + late + " (expected: nothing, term " + lastTerm + " has begun)");
    }
  }

  private int copies() {
    if (!rough) {
      return 1;
    }
    int lot = network.nextInt(100);
    return lot < lossPercent ? 0 : lot < 2 * lossPercent ? 2 : 1;
  }

  private long delay(Link link) {
    long delay = millis(network.nextInt(20));
    if (rough && network.nextInt(100) < latePercent) {
      delay = millis(network.nextInt(20_000));
    }
    return Math.max(delay, link.blockedUntilNanos - world.elapsedNanos());
  }

  /** An instance says something: an answer may be lost, as its command is given again. */
  private void said(String node, ControllerEvent event) {
    Link linked = links.get(node);
    Link link = linked == null ? cutOff.get(node) : linked;
    boolean ofItself =
        event instanceof ControllerEvent.ReplicaHealth
            || event instanceof ControllerEvent.ReplicaSuspect
            || (event instanceof ControllerEvent.ReplicaStopped stopped
                && (link == null || !link.toldToStop.contains(stopped.replicaId())));
    boolean ofCode =
        event instanceof ControllerEvent.Built || event instanceof ControllerEvent.BuildFailed;
    SimulatedProcess own = process;
    if (alone || ofCode) {
      control.execute(() -> tell(event));
    } else if (link == null || link.isDown) {
      world.note("unheard", event.toString());
    } else if (linked == null) {
      world.after(millis(network.nextInt(60_000)), "late", () -> tell(own, null, event));
    } else if (ofItself) {
      report(link, Math.min(delay(link), millis(4_000)), () -> tell(own, link, event));
    } else {
      for (int copies = copies(); copies > 0; copies--) {
        long delay = Math.max(delay(link), link.inventoryNanos + 1 - world.elapsedNanos());
        world.after(delay, "answer", () -> tell(own, link, event));
      }
    }
  }

  /**
   * @param link that it comes by, which must still be there; null for one that nobody knows of
   */
  private void tell(@Nullable SimulatedProcess own, @Nullable Link link, ControllerEvent event) {
    if (process == own && (link == null || links.containsValue(link))) {
      tell(event);
    }
  }

  /** What an instance tells by itself comes once, and in order. */
  private void report(Link link, long takesNanos, Runnable tells) {
    long arrives = Math.max(link.saidNanos + 1, world.elapsedNanos() + takesNanos);
    link.saidNanos = arrives;
    world.after(arrives - world.elapsedNanos(), "report", tells);
  }

  /** The snapshot that routers hold; null when none has come. */
  @Nullable RoutingSnapshot routed(DeploymentId id) {
    RoutingFeed own = feed;
    return own == null ? null : own.last(id);
  }

  /** Runs a task on the control loop, if there is one. */
  void onControl(Runnable task) {
    control.execute(task);
  }
}
