package dev.berth.simulation;

import static dev.berth.fakes.Submits.submit;

import dev.berth.api.DeploymentId;
import dev.berth.code.BuildCache;
import dev.berth.desired.DesiredState;
import dev.berth.desired.ServeControl;
import dev.berth.node.SimulatedNode;
import dev.berth.routing.DeploymentRouter;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A cluster of two to seven nodes, each wired as it ships: control and data links, membership, the
 * controller, what it commands, routers and replicas. Simulated are time, event loops, sockets, the
 * log, user code and callers. First a rough half minute, then a calm in which all comes to rest,
 * and to serve.
 */
final class ClusterSimulation {
  static final DeploymentId MODEL = new DeploymentId("a", "model");

  /** On a control node whose log was emptied: nothing of it may run elsewhere. */
  static final DeploymentId STRANGE = new DeploymentId("x", "model");

  /** What befalls a cluster. */
  enum Fault {
    KILL,
    MACHINE_DIES,
    PAUSE,
    SUSPEND,
    LOOP_HELD,
    NOTHING_FROM,
    NOTHING_TO,
    CUT_OFF,
    PEERS_CUT_OFF,
    RESET,
    LEAVE,
    CONTROL_KILLED,
    CONTROL_PAUSED,
    CONTROL_CUT_OFF,
    CONTROL_EMPTIED,
    REPLICA_DIES,
    SCALE,
    DEPLOY
  }

  /** After which there may be other replicas than before, for a while. */
  private static final Set<Fault> CHANGES =
      EnumSet.of(Fault.LEAVE, Fault.CONTROL_EMPTIED, Fault.SCALE, Fault.DEPLOY);

  /** After which replicas start. */
  private static final Set<Fault> STARTS =
      EnumSet.of(Fault.KILL, Fault.REPLICA_DIES, Fault.SCALE, Fault.DEPLOY);

  private static final long ROUGH_NANOS = TimeUnit.SECONDS.toNanos(30);
  private static final long CALM_NANOS = TimeUnit.SECONDS.toNanos(48);
  private static final long LAST_NANOS = TimeUnit.SECONDS.toNanos(70);

  /** One of so many seeds is measured: it runs for twelve minutes more. */
  private static final int MEASURED_EACH = Integer.getInteger("simulation.cluster.measured", 40);

  private static final long QUIET_NANOS = TimeUnit.MINUTES.toNanos(6);
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  /** How long a worker waits for code: who was asked may die with the question. */
  private static final long CODE_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** What a request takes, about. */
  private static final long MEAN_NANOS = TimeUnit.MILLISECONDS.toNanos(345);

  /** What a run came to. */
  record Result(long events, long hash, Map<Fault, Integer> faults, Map<String, Long> counts)
      implements SeededRuns.Result {}

  final World world;
  final SimulatedNet net;
  final Executions executions;
  final ClusterWatch watch;
  final List<ClusterNode> nodes = new ArrayList<>();
  final List<ClusterCall> calls = new ArrayList<>();
  final AgreedLog log;
  final boolean isSteady; // as many are wanted at all times
  final boolean overJournal; // an instance by itself ran before
  final int mostBodyBytes; // of what fills buffers; 0 for none
  private final SplittableRandom random;
  private final SplittableRandom callers;
  private final String run;
  private final Map<Fault, Integer> faults = new EnumMap<>(Fault.class);
  private final Map<String, Long> counts = new TreeMap<>();
  private final long meanGapNanos;
  final int maxOngoing;
  int replicas;
  private final boolean isMeasured; // what nodes hold, after another life
  private int versions;
  private int asked;
  boolean rough = true;
  private boolean called = true; // somebody calls
  boolean isDeployed; // by somebody, in the cluster
  private @Nullable AgreedLog empty; // that the control node has in place of its own

  private ClusterSimulation(long seed, boolean overBus) {
    world = new World(seed);
    isMeasured = seed % MEASURED_EACH == 5 % MEASURED_EACH;
    random = world.randomness();
    callers = world.randomness();
    run = (overBus ? "bus-" : "cluster-") + seed;
    net = new SimulatedNet(world, 1 << (12 + random.nextInt(9)));
    mostBodyBytes = random.nextInt(4) == 0 ? 1 << (10 + random.nextInt(8)) : 0;
    isSteady = random.nextInt(3) == 0;
    overJournal = random.nextInt(4) == 0;
    executions = new Executions(world);
    watch = new ClusterWatch(this);
    int count = 2 + Math.min(random.nextInt(6), random.nextInt(6));
    boolean isMixed = overBus && random.nextInt(3) == 0; // a setting that is rolled out
    for (int number = 1; number <= count; number++) {
      boolean bus = overBus && !(isMixed && random.nextBoolean());
      nodes.add(new ClusterNode(this, number, bus ? "event_bus" : "direct"));
    }
    replicas = 1 + random.nextInt(2 * count);
    maxOngoing = 1 + random.nextInt(4);
    double load = 0.2 + 1.3 * random.nextDouble(); // of what they can do
    meanGapNanos = Math.max(15_000_000, (long) (MEAN_NANOS / (replicas * maxOngoing * load)));
    DesiredState journal = overJournal ? journal() : DesiredState.EMPTY;
    log = new AgreedLog(world, "real", journal, () -> rough, watch::registered);
  }

  /** Runs a seed over data links; a failure tells how to see it again. */
  static Result run(long seed) {
    return run(seed, false, "ClusterSimulationTest", "simulation.cluster.seed");
  }

  /** The same where some or all nodes send over the event bus. */
  static Result runOverBus(long seed) {
    return run(seed, true, "ClusterBusSimulationTest", "simulation.bus.seed");
  }

  private static Result run(long seed, boolean overBus, String test, String property) {
    ClusterSimulation simulation = new ClusterSimulation(seed, overBus);
    ClusterUserCode.RUNS.put(simulation.run, simulation);
    try {
      return simulation.world.told(seed, test, property, simulation::run);
    } finally {
      ClusterUserCode.RUNS.remove(simulation.run);
    }
  }

  /**
   * Another life of what is there: links are made a second time, a worker registers again, every
   * loop calls, and more than five minutes pass. Each node that was there before holds no more than
   * it did. Placement differs from life to life, and a leak grows in each: what grew in one is
   * looked at after a further one.
   */
  private void livesAgain() {
    live();
    Map<SimulatedNode, Footprint> before = footprints();
    live();
    Map<SimulatedNode, Footprint> after = footprints();
    Map<String, Map<String, String>> grown = grown(before, after);
    if (!grown.isEmpty()) {
      live();
      Map<String, Map<String, String>> again = grown(after, footprints());
      again.forEach(
          (node, its) -> its.keySet().retainAll(grown.getOrDefault(node, Map.of()).keySet()));
      again.values().removeIf(Map::isEmpty);
      world.failIf(!again.isEmpty(), () -> "holds more after each life: " + again);
    }
  }

  private Map<SimulatedNode, Footprint> footprints() {
    Map<SimulatedNode, Footprint> all = new LinkedHashMap<>();
    nodes.forEach(each -> all.put(each.process(), Footprint.of(each.process().whole())));
    return all;
  }

  /** By node, for each process that was there before. */
  private Map<String, Map<String, String>> grown(
      Map<SimulatedNode, Footprint> before, Map<SimulatedNode, Footprint> after) {
    Map<String, Map<String, String>> all = new TreeMap<>();
    for (ClusterNode each : nodes) {
      Footprint was = before.get(each.process());
      if (was != null) {
        all.put(each.name, after.get(each.process()).grownSince(was, Footprint.GROWS));
        count("nodes measured");
      }
    }
    all.values().removeIf(Map::isEmpty);
    return all;
  }

  private void live() {
    net.reset(ClusterNode.CONTROL_PORT);
    net.reset(ClusterNode.DATA_PORT);
    net.reset(SimulatedEventBus.PORT);
    world.runTo(world.elapsedNanos() + TimeUnit.SECONDS.toNanos(20), () -> {});
    runUntil(watch::rests, LAST_NANOS);
    if (!isSteady) {
      nodes.get(nodes.size() - 1).leave();
      world.runTo(world.elapsedNanos() + TimeUnit.SECONDS.toNanos(25), () -> {});
      runUntil(watch::rests, LAST_NANOS);
    }
    int before = calls.size();
    nodes.forEach(this::callOnEachLoop);
    world.runTo(world.elapsedNanos() + QUIET_NANOS, () -> {});
    watch.checkAtEnd(calls.subList(before, calls.size()));
  }

  private Result run() {
    net.tap(watch);
    executions.listen(watch);
    nodes.forEach(this::start);
    if (!overJournal) {
      world.after(TimeUnit.SECONDS.toNanos(2), "deploy", this::deploy);
    }
    world.after(TimeUnit.SECONDS.toNanos(4), "fault", this::nextFault);
    arrivals();
    look();
    world.runTo(ROUGH_NANOS, () -> {});
    rough = false;
    net.heal();
    if (empty != null) {
      refill();
    }
    nodes.stream().filter(each -> !each.isUp()).forEach(each -> startLater(each, 1_000));
    world.runTo(ROUGH_NANOS + CALM_NANOS / 4, () -> {});
    if (!isSteady || !overJournal) {
      deploy(); // of what was asked for last some may have been refused
    }
    if (faults.containsKey(Fault.SCALE)) {
      scale(); // what says what it said before keeps the number that was set
    }
    called = false;
    runUntil(watch::rests, CALM_NANOS - CALM_NANOS / 4);
    int before = calls.size();
    nodes.forEach(this::callOnEachLoop);
    world.runTo(world.elapsedNanos() + TimeUnit.SECONDS.toNanos(1), () -> {});
    List<ClusterCall> last = calls.subList(before, calls.size());
    runUntil(() -> watch.rests() && last.stream().noneMatch(ClusterCall::isOpen), LAST_NANOS);
    watch.checkAtEnd(last);
    if (isMeasured) {
      livesAgain();
    }
    return new Result(world.ran(), world.hash(), faults, counts);
  }

  /** Until it is so, but no longer; it is looked at now and then. */
  private void runUntil(BooleanSupplier reached, long mostNanos) {
    long end = world.elapsedNanos() + mostNanos;
    while (world.elapsedNanos() < end && !reached.getAsBoolean()) {
      world.runTo(Math.min(end, world.elapsedNanos() + millis(500)), () -> {});
    }
  }

  boolean isRough() {
    return rough;
  }

  boolean isEmptied() {
    return empty != null;
  }

  void count(String what) {
    counts.merge(what, 1L, Long::sum);
  }

  private void look() {
    world.idle(
        LOOK_NANOS,
        () -> {
          watch.look();
          look();
        });
  }

  // --- nodes ---

  ClusterNode first() {
    return nodes.get(0);
  }

  private void start(ClusterNode node) {
    AgreedLog own = empty == null ? log : empty;
    node.start(node.control ? own.taken() : null, isEmptied());
  }

  void startLater(ClusterNode node, int mostMillis) {
    world.after(
        millis(random.nextInt(mostMillis)),
        "start",
        () -> {
          if (!node.isUp()) {
            start(node);
          }
        });
  }

  /** What a worker reads of a build, from the controller's node. */
  Future<BuildCache.BuildInputs> code(ClusterNode worker, String application, String build) {
    Promise<BuildCache.BuildInputs> read = Promise.promise();
    ClusterNode from = first();
    int process = from.processes;
    int asks = worker.processes;
    world.after(CODE_NANOS, "code lost", () -> worker.isTold(asks, read, null));
    world.after(
        millis(1 + random.nextInt(200)),
        "code",
        () -> {
          if (from.serves()) {
            from.onControl(
                () ->
                    worker.isTold(
                        asks,
                        read,
                        from.processes == process ? from.build(application, build) : null));
          } else {
            worker.isTold(asks, read, null);
          }
        });
    return read.future();
  }

  // --- what is declared ---

  private void command(String what, java.util.function.Function<ServeControl, Future<?>> command) {
    if (first().serves()) {
      ServeControl serve = first().process().serve();
      world.note("command", what);
      first()
          .onControl(
              () ->
                  command
                      .apply(serve)
                      .onComplete(
                          (done, failed) -> {
                            world.note("command", failed == null ? "done" : failed.toString());
                            count(failed == null ? "commands done" : "commands refused");
                          }));
    }
  }

  private void deploy() {
    deploy(isEmptied() ? STRANGE : MODEL);
  }

  private DesiredState journal() {
    count("journals");
    return ClusterJournal.left(
        MODEL.application(), entry(MODEL, 1), replicas, () -> world.elapsedNanos() / 1_000_000);
  }

  private void deploy(DeploymentId id) {
    String entry = entry(id, replicas);
    isDeployed = true;
    command("deploy " + entry, serve -> submit(serve.commands(), id.application(), entry));
  }

  private void scale() {
    int to = replicas;
    command("scale " + to, serve -> serve.commands().scale("a", "model", to));
  }

  private String entry(DeploymentId id, int number) {
    JsonObject deployment =
        new JsonObject()
            .put("name", id.name())
            .put("num_replicas", number)
            .put("max_ongoing_requests", maxOngoing)
            .put("max_queued_requests", 20)
            .put("graceful_shutdown_timeout_s", 5)
            .put("health_check_period_s", 5)
            .put("berth", new JsonObject().put("version", "v" + versions));
    return new JsonObject()
        .put("name", id.application())
        .put("route_prefix", "/" + id.application())
        .put("import_path", ClusterUserCode.class.getName() + ":build")
        .put("external_scaler_enabled", true)
        .put("args", new JsonObject().put("run", run))
        .put("deployments", new JsonArray().add(deployment))
        .encode();
  }

  // --- callers ---

  private void arrivals() {
    world.after(
        (long) (-Math.log(1 - callers.nextDouble()) * meanGapNanos),
        "arrival",
        () -> {
          if (called) {
            ClusterNode at = nodes.get(callers.nextInt(nodes.size()));
            if (at.serves()) {
              call(at, callers.nextInt(at.servingLoops()));
            }
            arrivals();
          }
        });
  }

  private void callOnEachLoop(ClusterNode at) {
    for (int loop = 0; loop < at.servingLoops(); loop++) {
      call(at, loop);
    }
  }

  private void call(ClusterNode at, int loop) {
    long timeout =
        callers.nextInt(3) == 0 ? 4_000 + callers.nextInt(8_000) : 200 + callers.nextInt(2_000);
    ClusterCall made =
        new ClusterCall(this, "r" + ++asked, at, loop, millis(called ? timeout : 60_000));
    SplittableRandom own = callers.split();
    at.serving(loop)
        .execute(
            () -> {
              if (at.serves() && at.process().isWanted(MODEL)) {
                calls.add(made);
                watch.asked(made);
                DeploymentRouter router = at.process().router(MODEL);
                made.ask(router, loop, !called, own);
              }
            });
  }

  // --- faults ---

  private void nextFault() {
    world.after(
        millis(100 + random.nextInt(2_400)),
        "fault",
        () -> {
          if (rough) {
            Fault fault = Fault.values()[random.nextInt(Fault.values().length)];
            if (befalls(fault)) {
              world.note("fault", fault.name());
              faults.merge(fault, 1, Integer::sum);
              if (STARTS.contains(fault) && random.nextBoolean()) {
                resetSoon();
              }
            }
            nextFault();
          }
        });
  }

  /** So that a node tells what it has while it tells what becomes of it. */
  private void resetSoon() {
    for (int times = random.nextInt(4); times >= 0; times--) {
      world.after(
          millis(random.nextInt(2_000)),
          "reset",
          () -> {
            nodes.forEach(each -> each.befallen(1));
            if (net.reset(ClusterNode.CONTROL_PORT)) {
              count("control links reset amid starts");
            }
          });
    }
  }

  private @Nullable ClusterNode worker() {
    List<ClusterNode> up = nodes.stream().filter(each -> each.serves() && !each.control).toList();
    return up.isEmpty() ? null : up.get(random.nextInt(up.size()));
  }

  private boolean befalls(Fault fault) {
    ClusterNode node = worker();
    ClusterNode control = first();
    if (node == null || !control.serves()) {
      return false;
    }
    long nanos = millis(500 + random.nextInt(9_500));
    if (isSteady && CHANGES.contains(fault)) {
      return false;
    }
    switch (fault) {
      case KILL -> kill(node, false);
      case MACHINE_DIES -> kill(node, true);
      case PAUSE -> node.pause(nanos, false);
      case SUSPEND -> node.pause(nanos, true);
      case LOOP_HELD -> node.serving(random.nextInt(node.servingLoops())).stall(nanos);
      case NOTHING_FROM -> nodes.forEach(each -> block(node, each, nanos));
      case NOTHING_TO -> nodes.forEach(each -> block(each, node, nanos));
      case CUT_OFF -> nodes.forEach(each -> cutOff(node, each, nanos));
      case PEERS_CUT_OFF -> {
        ClusterNode other = worker();
        if (other == null || other == node) {
          return false;
        }
        block(node, other, nanos);
        if (random.nextBoolean()) {
          block(other, node, nanos);
        }
      }
      case RESET -> {
        nodes.forEach(each -> each.befallen(1));
        return net.reset();
      }
      case LEAVE -> {
        if (node.leaving) {
          return false;
        }
        node.befallen(TimeUnit.SECONDS.toNanos(60));
        node.leave();
      }
      case CONTROL_KILLED -> kill(control, random.nextInt(4) == 0);
      case CONTROL_PAUSED -> control.pause(nanos, random.nextInt(4) == 0);
      case CONTROL_CUT_OFF -> nodes.forEach(each -> cutOff(control, each, nanos));
      case CONTROL_EMPTIED -> emptied();
      case REPLICA_DIES -> {
        return watch.replicaDies(random);
      }
      case SCALE -> {
        if (isEmptied()) {
          return false; // it does not know the application
        }
        replicas = 1 + random.nextInt(2 * nodes.size());
        scale();
      }
      case DEPLOY -> {
        versions++;
        deploy();
      }
    }
    return true;
  }

  private void kill(ClusterNode node, boolean silently) {
    node.kill(silently);
    startLater(node, random.nextBoolean() ? 1_000 : 15_000);
  }

  private void block(ClusterNode from, ClusterNode to, long nanos) {
    if (from != to) {
      net.block(from.host, to.host, nanos);
      from.befallen(nanos);
      to.befallen(nanos);
    }
  }

  private void cutOff(ClusterNode node, ClusterNode other, long nanos) {
    block(node, other, nanos);
    block(other, node, nanos);
  }

  /** Its disk is: after a while it gets what was there before. */
  private void emptied() {
    if (empty == null) {
      empty = new AgreedLog(world, "another", DesiredState.EMPTY, () -> rough, (before, now) -> {});
      nodes.forEach(ClusterNode::mayBeStrange);
      first().kill(false);
      startLater(first(), 1_000);
      world.after(millis(2_500), "deploy", this::deploy);
      world.after(millis(4_000 + random.nextInt(8_000)), "refilled", this::refill);
    }
  }

  /** Who came meanwhile belongs to another cluster, and is started anew. */
  private void refill() {
    if (empty != null) {
      empty = null;
      nodes.stream()
          .filter(each -> each.control || each.isStrange())
          .forEach(
              each -> {
                each.kill(false);
                startLater(each, 1_000);
              });
    }
  }

  static long millis(long millis) {
    return TimeUnit.MILLISECONDS.toNanos(millis);
  }
}
