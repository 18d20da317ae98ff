package dev.berth.simulation;

import dev.berth.api.AsyncHandler;
import dev.berth.api.DeploymentId;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.config.Backpressure;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.Yaml;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.IngressRoute;
import dev.berth.ingress.RouteTable;
import dev.berth.ingress.RouteTraffic;
import dev.berth.metrics.Meters;
import dev.berth.metrics.ShadowMeters;
import dev.berth.node.traffic.EndpointRegistry;
import dev.berth.node.traffic.RouteRegistry;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.replica.Replica;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RouterSettings;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.ranking.ConsistentHashRanker;
import dev.berth.routing.ranking.CurrentRanker;
import dev.berth.routing.ranking.LeastLatencyRanker;
import dev.berth.routing.ranking.LeastRequestsRanker;
import dev.berth.routing.ranking.LocalityTiers;
import dev.berth.routing.ranking.PowerOfTwoRanker;
import dev.berth.routing.ranking.RoundRobinRanker;
import dev.berth.routing.traffic.TrafficPolicy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One run of a route with two to four deployments, and shadows that get three times the copies they
 * can take, while its weights and the rankers change. A rough run has two instances, deployments
 * that vanish and come back, deadlines, cancels, replicas that die, stalled loops and a bad
 * network. A calm one has none of that, and then everybody is served; its users are the same with
 * and without shadows, and at every jitter.
 */
final class TrafficSimulation extends ClusterRun {
  private static final double[] WEIGHTS = {0, 1, 5, 10, 50, 90};
  private static final long MEAN_NANOS = millis(4); // of a request

  /** What must happen somewhere in the suite. */
  enum Met {
    WEIGHTS_CHANGED,
    VANISHED,
    CAME_BACK,
    RANKER_SWITCHED,
    RANKER_THREW,
    WAITED_ACROSS_A_CHANGE,
    PARKED,
    WENT_ON,
    LEADS_NOWHERE,
    KEY_MOVED,
    KEY_AT_HOME,
    KEY_LEFT_HOME,
    LAST_SLOT_LEFT
  }

  /** What a run came to; waits are those of users for their slots, in order. */
  record Result(
      long hash,
      long events,
      Map<Met, Integer> met,
      Map<String, Integer> answers,
      Map<ShadowMeters.ShadowEvent, Long> copies,
      Map<TrafficUsers.Stretch, int[]> drawn,
      long[] waits)
      implements SeededRuns.Result {}

  /** What an instance's control has: the deployments that it wants, and its routes. */
  private final class Control {
    final SimulatedInstance at;
    final Set<DeploymentId> wanted = new HashSet<>();
    final Set<DeploymentRouter> rings = new HashSet<>(); // ranked by one without a bound
    final RouteRegistry routes;
    IngressRoute route = IngressRoute.nowhere(1);

    Control(SimulatedInstance at, List<Settings> endpoints) {
      this.at = at;
      routes =
          new RouteRegistry(
              this::accept,
              "",
              at.control,
              (ingress, traffic) -> IngressRoute.nowhere(1),
              new EndpointRegistry(endpoints, wanted::contains, this::leadsTo));
    }

    private IngressRoute leadsTo(Settings endpoint) {
      TrafficPolicy policy = TrafficPolicy.of(endpoint, "", null);
      List<IngressRoute> sides = policy.sides().stream().map(this::side).toList();
      List<DeploymentRouter> shadows =
          policy.shadows().stream().map(each -> router(each.to())).toList();
      return IngressRoute.to("", new RouteTraffic(policy, sides, shadows));
    }

    private IngressRoute side(DeploymentId id) {
      return new IngressRoute("app", router(id), Backpressure.DEFAULTS, null);
    }

    DeploymentRouter router(DeploymentId id) {
      return at.routers.router(id, routing);
    }

    private void accept(RouteTable<IngressRoute> table) {
      route = table.match("/r");
      users.doors.stream()
          .filter(door -> door.at == at)
          .forEach(door -> at.loops.get(door.loop).execute(door::unpark));
    }

    /** A deployment is wanted here from now on, or no more. */
    void want(DeploymentId id, boolean isWanted) {
      if (isWanted && wanted.add(id)) {
        router(id).configure(routing);
        routes.configured(id);
      } else if (!isWanted && wanted.remove(id)) {
        retired.add(router(id));
        at.routers.forget(id);
        routes.updateEndpoints(id);
      }
    }
  }

  private final long seed;
  private final SimulatedBus bus;
  final boolean rough;
  final boolean shadowed;
  private final RouterSettings routing;
  private final Meters meters = new Meters("n", "here", "", false);
  private final List<Control> controls = new ArrayList<>();
  private final List<DeploymentId> sides = new ArrayList<>();
  private final List<DeploymentId> shadows = new ArrayList<>();
  private final Set<DeploymentId> gone = new HashSet<>();
  private final Map<DeploymentId, Long> vanished = new HashMap<>(); // when, last
  private final List<DeploymentRouter> retired = new ArrayList<>();
  private final EnumMap<Met, Integer> met = new EnumMap<>(Met.class);
  private final double shadowSlowness;
  private final TrafficUsers users;

  /** What happens is the same whatever the jitter. */
  private TrafficSimulation(long seed, boolean rough, boolean shadowed, int jitter) {
    super(new World(seed + ((long) jitter << 48)), new SplittableRandom(seed * 31 + 7));
    this.seed = seed;
    this.rough = rough;
    this.shadowed = shadowed;
    bus = new SimulatedBus(world, new Coverage());
    routing = RoutingProbe.settings(-1, millis(rough ? 300 : 3_600_000), millis(1_000), 1L << 33);
    SplittableRandom arrivals = random.split();
    int count = rough && random.nextInt(3) > 0 ? 2 : 1;
    instances(count, bus, SimulatedInstance.Settings.wide(routing, millis(1_000), 1 << 20, 1_024));
    instances.forEach(each -> controls.add(new Control(each, endpoints())));
    int slots = 0;
    int most = 2 + random.nextInt(3);
    for (int number = 0; number < most; number++) {
      sides.add(new DeploymentId("app", "d" + number));
      boolean together = random.nextBoolean();
      int home = random.nextInt(count);
      for (int replica = 2 + random.nextInt(2); replica > 0; replica--) {
        SimulatedInstance at = instances.get(together ? home : random.nextInt(count));
        seats.add(new Seat(sides.get(number), at, random.nextInt(2), 1 + random.nextInt(2)));
        slots += seats.get(seats.size() - 1).max;
      }
    }
    double load = (rough ? 0.15 : 0.5) + random.nextDouble() * 0.4;
    int copying = 0;
    for (int number = 0; number < 2; number++) {
      shadows.add(new DeploymentId("app", "s" + number));
      for (int replica = 0; replica < 2; replica++) {
        seats.add(new Seat(shadows.get(number), instances.get(0), replica, 2));
        copying += 2;
      }
    }
    shadowSlowness = 3 * copying / (load * slots * 1.5); // of 1.5 copies for each request
    users = new TrafficUsers(this, arrivals, (long) (MEAN_NANOS / (load * slots)), meters);
  }

  private static List<Settings> endpoints() {
    String text =
        """
        applications: [{import_path: a.B}]
        berth: {endpoints: [{route_prefix: /r, queue_timeout_s: 0.06,
          traffic: [{application: app, deployment: d0, weight: 1}],
          match: [{header: x-canary, exact: always, application: app, deployment: d1}],
          shadow: [{application: app, deployment: s0},
            {application: app, deployment: s1, fraction: 0.5}]}]}
        """;
    return Yaml.read(text).get(ServeConfig.BERTH).get(InstanceOptions.ENDPOINTS);
  }

  /** Runs a seed, rough; a failure tells how to see it again. */
  static Result run(long seed) {
    return run(seed, true, true, 0);
  }

  /** Runs a seed, calm. */
  static Result calm(long seed, boolean shadowed, int jitter) {
    return run(seed, false, shadowed, jitter);
  }

  private static Result run(long seed, boolean rough, boolean shadowed, int jitter) {
    TrafficSimulation made = new TrafficSimulation(seed, rough, shadowed, jitter);
    return made.world.told(seed, "TrafficSimulationTest", "simulation.traffic.seed", made::run);
  }

  private Result run() {
    for (SimulatedInstance each : instances) {
      each.onGrant(grant -> users.granted(each, grant));
      each.start(this);
    }
    sides.forEach(id -> want(id, true));
    shadows.forEach(id -> want(id, true));
    if (rough) {
      lives();
    } else {
      live(); // users' waits are compared with those of other runs
    }
    EnumMap<ShadowMeters.ShadowEvent, Long> copies = new EnumMap<>(ShadowMeters.ShadowEvent.class);
    shadows.forEach(
        id ->
            meters
                .shadow("/r", id)
                .forEach((event, times) -> copies.merge(event, times, Long::sum)));
    long[] waits =
        users.all.stream()
            .filter(TrafficUsers.User::granted)
            .mapToLong(each -> each.grantedNanos - each.askedNanos)
            .sorted()
            .toArray();
    return new Result(world.hash(), world.ran(), met, users.answers, copies, users.drawn, waits);
  }

  @Override
  Object[] measured(SimulatedInstance at) {
    List<Object> all =
        new ArrayList<>(List.of(at.plane, controls.get(instances.indexOf(at)).routes));
    users.doors.stream().filter(door -> door.at == at).forEach(door -> all.add(door.parked));
    return all.toArray();
  }

  @Override
  void live() {
    over = false;
    world.after(millis(20), "weights", this::changeWeights);
    world.after(millis(30), "ranker", this::switchRanker);
    users.start();
    if (rough) {
      bus.rates(FaultRates.draw(random));
      world.after(millis(60), "fault", this::fault);
    }
    world.runUntil(users::closed, this::check);
    over = true;
    bus.rates(FaultRates.NONE);
    long patience = world.elapsedNanos() + millis(20_000);
    world.runUntil(() -> users.waiting == 0 || world.nextNanos() > patience, this::check);
    users.all.stream()
        .filter(each -> !each.answered)
        .findFirst()
        .ifPresent(each -> world.fail(users.waiting + " have no answer, the first: " + each));
    rest();
    checkAtEnd();
    routers().forEach(each -> each.ranker.set(new PowerOfTwoRanker())); // as each life begins
    controls.forEach(each -> each.rings.clear());
  }

  @Override
  public void ticked(SimulatedInstance at, int loop) {
    users.doors.stream()
        .filter(door -> door.at == at && door.loop == loop)
        .forEach(TrafficUsers.Door::sweep);
    running(seat -> true).forEach(each -> each.slots().audit());
  }

  private Stream<Replica> running(Predicate<Seat> at) {
    return seats.stream().filter(at).map(seat -> seat.current).filter(Objects::nonNull);
  }

  void met(Met what) {
    met.merge(what, 1, Integer::sum);
  }

  IngressRoute route(SimulatedInstance at) {
    return controls.get(instances.indexOf(at)).route;
  }

  boolean isRing(DeploymentRouter router) {
    return controls.stream().anyMatch(each -> each.rings.contains(router));
  }

  // --- what happens ---

  /** Each instance hears of it when it does. */
  private void want(DeploymentId id, boolean isWanted) {
    for (Control each : controls) {
      world.after(
          1 + random.nextLong(millis(5)),
          "wanted",
          () -> each.at.control.execute(() -> each.want(id, isWanted)));
    }
    for (Seat seat : seats) {
      if (seat.deployment.equals(id)) {
        Replica last = seat.current;
        seat.current = null;
        if (isWanted) {
          world.after(1 + random.nextLong(millis(12)), "start", () -> start(seat));
        } else if (last != null) {
          last.shutDown(Duration.ofMillis(random.nextInt(60)));
        }
      }
    }
  }

  @Override
  boolean wants(DeploymentId id) {
    return !gone.contains(id);
  }

  /** Takes as long as its request does, whoever is asked, and whenever. */
  @Override
  AsyncHandler handler(Seat seat) {
    SimulatedLoop loop = seat.at.loops.get(seat.loop);
    return (request, context) -> {
      boolean copy = request.headers().get("x-serve-shadow") != null;
      if (copy != shadows.contains(context.deployment())) {
        throw world.fail((copy ? "a copy ran at " : "a request ran at ") + context.deployment());
      }
      SplittableRandom own = new SplittableRandom(seed * 1_000_003 + request.path().hashCode());
      long takes = own.nextLong(2 * MEAN_NANOS);
      return answer(loop, copy ? (long) (takes * shadowSlowness) : takes, request.path(), context);
    };
  }

  @Override
  long toldAfterNanos() {
    return millis(6) + random.nextLong(millis(4));
  }

  private void changeWeights() {
    if (over) {
      return;
    }
    Map<String, Double> weights = new TreeMap<>();
    for (DeploymentId id : sides) {
      weights.put(id.toString(), WEIGHTS[random.nextInt(WEIGHTS.length)]);
    }
    weights.merge(sides.get(random.nextInt(sides.size())).toString(), 10.0, Double::sum);
    world.note("weights", weights.toString());
    met(Met.WEIGHTS_CHANGED);
    for (Control each : controls) {
      world.after(
          1 + random.nextLong(millis(5)),
          "told",
          () -> each.at.control.execute(() -> each.routes.split("/r", weights)));
    }
    long holds = millis(10) + random.nextLong(millis(60));
    world.after(holds, "weights", this::changeWeights);
  }

  private void switchRanker() {
    Control control = controls.get(random.nextInt(controls.size()));
    DeploymentId id = sides.get(random.nextInt(sides.size()));
    int which = random.nextInt(9);
    if (over) {
      return;
    }
    if (control.wanted.contains(id)) {
      world.note("ranker", id + " " + which);
      met(Met.RANKER_SWITCHED);
      DeploymentRouter router = control.router(id);
      control.rings.remove(router);
      CurrentRanker ranker = router.ranker;
      switch (which) {
        case 0 -> ranker.set(new PowerOfTwoRanker());
        case 1 -> ranker.set(new LeastRequestsRanker(LocalityTiers.ALL, 16));
        case 2 -> ranker.set(new RoundRobinRanker());
        case 3 -> ranker.set(new ConsistentHashRanker(100, 2, 1.25));
        case 4 ->
            ranker.set(
                new LeastLatencyRanker(LocalityTiers.ALL, 10_000_000_000L, 1_000_000, world));
        case 5 -> ranker.setOwn(TrafficSimulation::rankBadly, why -> met(Met.RANKER_THREW));
        default -> {
          ranker.set(new ConsistentHashRanker(100, 2, 0));
          control.rings.add(router);
        }
      }
    }
    long next = millis(1) + random.nextLong(millis(25));
    world.after(next, "ranker", this::switchRanker);
  }

  private static void rankBadly(
      ReplicaRanker.Candidates candidates,
      ReplicaRanker.Asker asker,
      RandomGenerator random,
      ReplicaRanker.Ranking ranking) {
    switch (random.nextInt(4)) {
      case 0 -> throw new IllegalStateException("as drawn");
      case 1 -> throw new StackOverflowError("as drawn");
      case 2 -> ranking.add(candidates.size());
      default -> ranking.add(random.nextInt(candidates.size()));
    }
  }

  private void fault() {
    if (over) {
      return;
    }
    Control at = controls.get(random.nextInt(controls.size()));
    DeploymentId side = sides.get(random.nextInt(sides.size()));
    switch (random.nextInt(4)) {
      case 0 -> at.at.loops.get(random.nextInt(2)).stall(random.nextLong(millis(150)));
      case 1 -> kill(seats.get(random.nextInt(seats.size())), millis(40));
      case 2 -> vanish(side);
      default -> sides.forEach(each -> vanish(random.nextInt(3) > 0 ? each : side));
    }
    world.after(1 + random.nextLong(millis(150)), "fault", this::fault);
  }

  private void vanish(DeploymentId id) {
    if (!gone.add(id)) {
      return;
    }
    world.note("vanished", id.toString());
    met(Met.VANISHED);
    vanished.put(id, world.elapsedNanos());
    want(id, false);
    world.after(
        millis(20) + random.nextLong(millis(140)),
        "back",
        () -> {
          gone.remove(id);
          met(Met.CAME_BACK);
          want(id, true);
        });
  }

  /** Whether who asked then may be told that a deployment is not there. */
  boolean vanishedAfter(DeploymentId id, long askedNanos) {
    Long last = vanished.get(id);
    return last != null && askedNanos <= last + millis(15);
  }

  // --- what must hold ---

  @Override
  void check() {
    for (Seat seat : seats) {
      Replica current = seat.current;
      if (current != null && current.slots().ongoing() > seat.max) {
        throw world.fail("above its slots: " + current.view());
      }
    }
    for (Control control : controls) {
      for (DeploymentRouter each : control.at.routers.all()) {
        if (each.queued() == 0) {
          continue;
        }
        if (shadows.contains(each.deployment())) {
          throw world.fail("a copy waits at " + each.deployment());
        }
        if (!rough && free(each.deployment()) > 0) {
          throw world.fail(each.queued() + " wait beside a free slot of " + each.deployment());
        }
      }
    }
  }

  private int free(DeploymentId id) {
    return free(running(seat -> seat.deployment.equals(id)));
  }

  private static int free(Stream<Replica> replicas) {
    return replicas
        .map(Replica::slots)
        .mapToInt(slots -> Math.max(0, slots.maxOngoing() - slots.ongoing()))
        .sum();
  }

  /** Slots that each shadow has granted, all told. */
  long[] takenByCopies() {
    long[] taken = new long[shadows.size()];
    for (Replica each : started) {
      int shadow = shadows.indexOf(each.deployment());
      if (shadow >= 0) {
        taken[shadow] += each.view().granted();
      }
    }
    return taken;
  }

  /** Copies were made, here where the shadows are: another slot is free beside each one taken. */
  void checkCopies(SimulatedInstance at, long[] before) {
    long[] taken = takenByCopies();
    for (int shadow = 0; shadow < taken.length; shadow++) {
      if (at == controls.get(0).at && taken[shadow] > before[shadow]) {
        DeploymentId id = shadows.get(shadow);
        int free = freeAsSeen(controls.get(0).router(id));
        if (free == 1) {
          met(Met.LAST_SLOT_LEFT);
        } else if (free == 0) {
          throw world.fail("a copy took the last slot of " + id);
        }
      }
    }
  }

  /** Of the replicas that a router knows, gone or not. */
  private int freeAsSeen(DeploymentRouter router) {
    List<String> known = known(router);
    return free(started.stream().filter(each -> known.contains(each.replicaId())));
  }

  private static List<String> known(DeploymentRouter router) {
    return RoutingProbe.routable(router).stream().map(ReplicaInfo::replicaId).toList();
  }

  /** The replicas of a router, and whether each has a slot; null unless all are here, and run. */
  @Nullable Map<String, Boolean> freeHere(SimulatedInstance at, DeploymentRouter router) {
    Map<String, Boolean> running = new HashMap<>();
    for (Seat seat : seats) {
      Replica current = seat.current;
      if (seat.at == at && current != null && !current.slots().draining()) {
        running.put(current.replicaId(), current.slots().ongoing() < seat.max);
      }
    }
    List<String> known = known(router);
    boolean all = running.keySet().containsAll(known);
    running.keySet().retainAll(known);
    return all ? running : null;
  }

  @Override
  void checkAtEnd() {
    super.checkAtEnd();
    for (DeploymentRouter each : retired) {
      long left = each.queued() + RoutingProbe.notOver(each) + each.running() + each.reserved();
      world.failIf(left != 0, () -> each.deployment() + " is gone, and has " + left + " requests");
    }
    users.doors.stream()
        .filter(door -> door.parked.size() > 0)
        .findFirst()
        .ifPresent(door -> world.fail(door.parked.size() + " are parked for ever"));
  }
}
