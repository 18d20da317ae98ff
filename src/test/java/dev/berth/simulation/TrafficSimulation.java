package dev.berth.simulation;

import dev.berth.api.AsyncHandler;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.spi.ReplicaRanker;
import dev.berth.config.Backpressure;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.config.Yaml;
import dev.berth.config.keys.Settings;
import dev.berth.fakes.Replicas;
import dev.berth.ingress.IngressRoute;
import dev.berth.ingress.RouteTable;
import dev.berth.ingress.RouteTraffic;
import dev.berth.metrics.Meters;
import dev.berth.metrics.ShadowMeters;
import dev.berth.node.traffic.Endpoints;
import dev.berth.node.traffic.Routes;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.protocol.port.LedgerView;
import dev.berth.replica.BodyBounds;
import dev.berth.replica.Replica;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.LoopLimits;
import dev.berth.routing.RouterSettings;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.ranking.ConsistentHashRanker;
import dev.berth.routing.ranking.LeastLatencyRanker;
import dev.berth.routing.ranking.LeastRequestsRanker;
import dev.berth.routing.ranking.PowerOfTwoRanker;
import dev.berth.routing.ranking.RoundRobinRanker;
import dev.berth.routing.ranking.Tiers;
import dev.berth.routing.slots.InstanceBounds;
import dev.berth.routing.traffic.TrafficPolicy;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * One run of a route with two to four deployments, and shadows that get three times the copies they
 * can take, while its weights and the rankers change. A rough run has two instances, deployments
 * that vanish and come back, deadlines, cancels, replicas that die, stalled loops and a bad
 * network. A calm one has none of that, and then everybody is served; its users are the same with
 * and without shadows, and at every jitter.
 */
final class TrafficSimulation {
  private static final double[] WEIGHTS = {0, 1, 5, 10, 50, 90};
  private static final long MEAN_NANOS = LegsWorkload.millis(4); // of a request

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
      Map<ShadowMeters.Event, Long> copies,
      Map<TrafficUsers.Stretch, int[]> drawn,
      long[] waits)
      implements SeededRuns.Result {}

  private static final class Seat {
    final DeploymentId deployment;
    final SimulatedInstance at;
    final int loop;
    final int max;
    @Nullable Replica current;

    Seat(DeploymentId deployment, SimulatedInstance at, int loop, int max) {
      this.deployment = deployment;
      this.at = at;
      this.loop = loop;
      this.max = max;
    }
  }

  /** What an instance's control has: the deployments that it wants, and its routes. */
  private final class Control {
    final SimulatedInstance at;
    final Set<DeploymentId> wanted = new HashSet<>();
    final Set<DeploymentRouter> rings = new HashSet<>(); // ranked by one without a bound
    final Routes routes;
    IngressRoute route = IngressRoute.nowhere(1);

    Control(SimulatedInstance at, List<Settings> endpoints) {
      this.at = at;
      routes =
          new Routes(
              this::accept,
              "",
              at.control,
              (ingress, traffic) -> IngressRoute.nowhere(1),
              new Endpoints(endpoints, Map.of(), wanted::contains, this::leadsTo));
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
      for (TrafficUsers.Door door : users.doors) {
        if (door.at == at) {
          at.loops.get(door.loop).execute(door::unpark);
        }
      }
    }

    /** A deployment is wanted here from now on, or no more. */
    void want(DeploymentId id, boolean isWanted) {
      if (isWanted && wanted.add(id)) {
        router(id).configure(routing);
        routes.configured(id);
      } else if (!isWanted && wanted.remove(id)) {
        retired.add(router(id));
        at.routers.forget(id);
        routes.forgotten(id);
      }
    }
  }

  private final World world;
  private final long seed;
  private final SplittableRandom plan; // of what happens, whatever the jitter
  private final SimulatedBus bus;
  final boolean rough;
  final boolean shadowed;
  private final RouterSettings routing;
  private final Meters meters = new Meters("n", "here", "");
  private final List<Control> controls = new ArrayList<>();
  private final List<DeploymentId> sides = new ArrayList<>();
  private final List<DeploymentId> shadows = new ArrayList<>();
  private final Set<DeploymentId> gone = new HashSet<>();
  private final Map<DeploymentId, Long> vanished = new HashMap<>(); // when, last
  private final List<Seat> seats = new ArrayList<>();
  private final List<Replica> started = new ArrayList<>();
  private final List<DeploymentRouter> retired = new ArrayList<>();
  private final EnumMap<Met, Integer> met = new EnumMap<>(Met.class);
  private final double shadowSlowness;
  private final TrafficUsers users;
  private long version;
  private int starts;
  private boolean over;

  private TrafficSimulation(long seed, boolean rough, boolean shadowed, int jitter) {
    this.seed = seed;
    this.rough = rough;
    this.shadowed = shadowed;
    world = new World(seed + ((long) jitter << 48));
    plan = new SplittableRandom(seed * 31 + 7);
    bus = new SimulatedBus(world, new Coverage());
    routing =
        RoutingProbe.settings(
            -1, LegsWorkload.millis(rough ? 300 : 3_600_000), LegsWorkload.millis(1_000), 1L << 33);
    SplittableRandom arrivals = plan.split();
    int count = rough && plan.nextInt(3) > 0 ? 2 : 1;
    for (int number = 1; number <= count; number++) {
      SimulatedInstance at = new SimulatedInstance(world, bus, "n" + number, settings());
      controls.add(new Control(at, endpoints()));
    }
    int slots = 0;
    int most = 2 + plan.nextInt(3);
    for (int number = 0; number < most; number++) {
      sides.add(new DeploymentId("app", "d" + number));
      boolean together = plan.nextBoolean();
      int home = plan.nextInt(count);
      for (int replica = 2 + plan.nextInt(2); replica > 0; replica--) {
        SimulatedInstance at = controls.get(together ? home : plan.nextInt(count)).at;
        seats.add(new Seat(sides.get(number), at, plan.nextInt(2), 1 + plan.nextInt(2)));
        slots += seats.get(seats.size() - 1).max;
      }
    }
    double load = (rough ? 0.15 : 0.5) + plan.nextDouble() * 0.4;
    int copying = 0;
    for (int number = 0; number < 2; number++) {
      shadows.add(new DeploymentId("app", "s" + number));
      for (int replica = 0; replica < 2; replica++) {
        seats.add(new Seat(shadows.get(number), controls.get(0).at, replica, 2));
        copying += 2;
      }
    }
    shadowSlowness = 3 * copying / (load * slots * 1.5); // of 1.5 copies for each request
    long gap = (long) (MEAN_NANOS / (load * slots));
    users = new TrafficUsers(this, world, arrivals, gap);
    for (Control control : controls) {
      for (int loop = 0; loop < SimulatedInstance.LOOPS; loop++) {
        users.doors.add(users.new Door(control.at, loop, meters));
      }
    }
  }

  private SimulatedInstance.Settings settings() {
    return new SimulatedInstance.Settings(
        routing,
        SimulatedInstance.Settings.limits(
            LegsWorkload.millis(1_000),
            LegsWorkload.millis(2_000),
            new BodyBounds(65_536, 1 << 20, 1_000_000),
            new InstanceBounds(4_000, 1 << 20, 1 << 20),
            new LoopLimits(1_024, 65_536)));
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
    for (Control control : controls) {
      for (SimulatedLoop loop : control.at.loops) {
        loop.listen(
            task -> {
              if (RoutingProbe.isGrant(task)) {
                users.granted(control.at, task);
              }
            });
      }
      control.at.start(new Ticks());
    }
    sides.forEach(id -> want(id, true));
    shadows.forEach(id -> want(id, true));
    world.after(LegsWorkload.millis(20), "weights", this::changeWeights);
    world.after(LegsWorkload.millis(30), "ranker", this::switchRanker);
    world.after(LegsWorkload.millis(50), "arrival", users::arrive);
    if (rough) {
      bus.rates(FaultRates.draw(plan));
      world.after(LegsWorkload.millis(60), "fault", this::fault);
    }
    stepUntil(() -> users.closed());
    over = true;
    bus.rates(FaultRates.NONE);
    long patience = world.elapsedNanos() + LegsWorkload.millis(20_000);
    stepUntil(() -> users.waiting == 0 || world.nextNanos() > patience);
    users.all.stream()
        .filter(each -> !each.answered)
        .findFirst()
        .ifPresent(each -> world.fail(users.waiting + " have no answer, the first: " + each));
    long rest = world.elapsedNanos() + LegsWorkload.millis(12_000);
    stepUntil(() -> world.nextNanos() > rest);
    checkAtEnd();
    EnumMap<ShadowMeters.Event, Long> copies = new EnumMap<>(ShadowMeters.Event.class);
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

  private void stepUntil(BooleanSupplier reached) {
    while (!reached.getAsBoolean()) {
      world.mustStep();
      check();
    }
  }

  private final class Ticks implements SimulatedInstance.TickListener {
    @Override
    public void ticked(SimulatedInstance at, int loop) {
      users.doors.stream()
          .filter(door -> door.at == at && door.loop == loop)
          .forEach(TrafficUsers.Door::sweep);
      seats.stream().map(seat -> seat.current).forEach(TrafficSimulation::audit);
    }
  }

  private static void audit(@Nullable Replica each) {
    if (each != null) {
      each.slots().audit();
    }
  }

  void met(Met what) {
    met.merge(what, 1, Integer::sum);
  }

  private Control control(SimulatedInstance at) {
    return controls.get(0).at == at ? controls.get(0) : controls.get(1);
  }

  IngressRoute route(SimulatedInstance at) {
    return control(at).route;
  }

  boolean isRing(DeploymentRouter router) {
    return controls.stream().anyMatch(each -> each.rings.contains(router));
  }

  // --- what happens ---

  /** Each instance hears of it when it does. */
  private void want(DeploymentId id, boolean isWanted) {
    for (Control each : controls) {
      world.after(
          1 + plan.nextLong(LegsWorkload.millis(5)),
          "wanted",
          () -> each.at.control.execute(() -> each.want(id, isWanted)));
    }
    for (Seat seat : seats) {
      if (seat.deployment.equals(id)) {
        Replica last = seat.current;
        seat.current = null;
        if (isWanted) {
          world.after(1 + plan.nextLong(LegsWorkload.millis(12)), "start", () -> start(seat));
        } else if (last != null) {
          last.shutDown(Duration.ofMillis(plan.nextInt(60)));
        }
      }
    }
  }

  private void start(Seat seat) {
    if (gone.contains(seat.deployment) || seat.current != null) {
      return;
    }
    SimulatedLoop loop = seat.at.loops.get(seat.loop);
    String id = seat.deployment + "#" + ++starts;
    seat.at.start(
        seat.loop,
        Replicas.spec(id, seat.deployment, plan.nextLong(), seat.max, context -> new Handler(loop)),
        replica -> {
          started.add(replica);
          if (gone.contains(seat.deployment)) {
            replica.kill();
          } else {
            seat.current = replica;
            publish(seat.deployment);
          }
        });
  }

  /** Takes as long as its request does, whoever is asked, and whenever. */
  private final class Handler implements AsyncHandler {
    private final SimulatedLoop loop;

    Handler(SimulatedLoop loop) {
      this.loop = loop;
    }

    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      boolean copy = request.headers().get("x-serve-shadow") != null;
      if (copy != shadows.contains(context.deployment())) {
        throw world.fail((copy ? "a copy ran at " : "a request ran at ") + context.deployment());
      }
      SplittableRandom own = new SplittableRandom(seed * 1_000_003 + request.path().hashCode());
      long takes = own.nextLong(2 * MEAN_NANOS);
      Promise<Response> answer = Promise.promise();
      loop.start(
          copy ? (long) (takes * shadowSlowness) : takes,
          () -> answer.tryComplete(Response.text(request.path())));
      context.onCancel(() -> answer.tryComplete(Response.text("cancelled")));
      return answer.future();
    }
  }

  private void publish(DeploymentId id) {
    List<RoutingSnapshot.Route> routes = new ArrayList<>();
    for (Seat seat : seats) {
      Replica current = seat.current;
      if (seat.deployment.equals(id) && current != null) {
        routes.add(new RoutingSnapshot.Route(Replicas.info(current), true));
      }
    }
    RoutingSnapshot snapshot =
        new RoutingSnapshot(id, new RoutingSnapshot.Version(1, ++version), true, routes);
    for (Control each : controls) {
      world.after(
          LegsWorkload.millis(6) + plan.nextLong(LegsWorkload.millis(4)),
          "snapshot",
          () -> each.at.routers.update(snapshot));
    }
  }

  private void changeWeights() {
    if (over) {
      return;
    }
    Map<String, Double> weights = new TreeMap<>();
    for (DeploymentId id : sides) {
      weights.put(id.toString(), WEIGHTS[plan.nextInt(WEIGHTS.length)]);
    }
    weights.merge(sides.get(plan.nextInt(sides.size())).toString(), 10.0, Double::sum);
    world.note("weights", weights.toString());
    met(Met.WEIGHTS_CHANGED);
    for (Control each : controls) {
      world.after(
          1 + plan.nextLong(LegsWorkload.millis(5)),
          "told",
          () -> each.at.control.execute(() -> each.routes.split("/r", weights)));
    }
    long holds = LegsWorkload.millis(10) + plan.nextLong(LegsWorkload.millis(60));
    world.after(holds, "weights", this::changeWeights);
  }

  private void switchRanker() {
    Control control = controls.get(plan.nextInt(controls.size()));
    DeploymentId id = sides.get(plan.nextInt(sides.size()));
    int which = plan.nextInt(9);
    if (over) {
      return;
    }
    if (control.wanted.contains(id)) {
      DeploymentRouter router = control.router(id);
      world.note("ranker", router.deployment() + " " + which);
      met(Met.RANKER_SWITCHED);
      control.rings.remove(router);
      switch (which) {
        case 0 -> router.ranker().set(new PowerOfTwoRanker());
        case 1 -> router.ranker().set(new LeastRequestsRanker(Tiers.ALL, 16));
        case 2 -> router.ranker().set(new RoundRobinRanker());
        case 3 -> router.ranker().set(new ConsistentHashRanker(100, 2, 1.25));
        case 4 ->
            router
                .ranker()
                .set(new LeastLatencyRanker(Tiers.ALL, 10_000_000_000L, 1_000_000, world));
        case 5 ->
            router.ranker().setOwn(TrafficSimulation::rankBadly, why -> met(Met.RANKER_THREW));
        default -> {
          router.ranker().set(new ConsistentHashRanker(100, 2, 0));
          control.rings.add(router);
        }
      }
    }
    long next = LegsWorkload.millis(1) + plan.nextLong(LegsWorkload.millis(25));
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
    Control at = controls.get(plan.nextInt(controls.size()));
    DeploymentId side = sides.get(plan.nextInt(sides.size()));
    switch (plan.nextInt(4)) {
      case 0 -> at.at.loops.get(plan.nextInt(2)).stall(plan.nextLong(LegsWorkload.millis(150)));
      case 1 -> kill(seats.get(plan.nextInt(seats.size())));
      case 2 -> vanish(side);
      default -> sides.forEach(each -> vanish(plan.nextInt(3) > 0 ? each : side));
    }
    world.after(1 + plan.nextLong(LegsWorkload.millis(150)), "fault", this::fault);
  }

  private void kill(Seat seat) {
    Replica dying = seat.current;
    if (dying == null) {
      return;
    }
    seat.current = null;
    world.note("killed", dying.replicaId());
    dying.kill();
    for (Control each : controls) {
      world.after(
          1 + plan.nextLong(LegsWorkload.millis(30)),
          "detected",
          () -> each.at.routers.replicaLost(dying.address()));
    }
    publish(seat.deployment);
    world.after(1 + plan.nextLong(LegsWorkload.millis(40)), "restart", () -> start(seat));
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
        LegsWorkload.millis(20) + plan.nextLong(LegsWorkload.millis(140)),
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
    return last != null && askedNanos <= last + LegsWorkload.millis(15);
  }

  // --- what must hold ---

  private void check() {
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
    return seats.stream()
        .filter(seat -> seat.deployment.equals(id) && seat.current != null)
        .map(seat -> seat.current.slots())
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
    List<String> known =
        RoutingProbe.routable(router).stream().map(ReplicaInfo::replicaId).toList();
    return started.stream()
        .filter(each -> known.contains(each.replicaId()))
        .mapToInt(each -> Math.max(0, each.slots().maxOngoing() - each.slots().ongoing()))
        .sum();
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
    List<String> known =
        RoutingProbe.routable(router).stream().map(ReplicaInfo::replicaId).toList();
    boolean all = running.keySet().containsAll(known);
    running.keySet().retainAll(known);
    return all ? running : null;
  }

  private void checkAtEnd() {
    for (Replica replica : started) {
      replica.slots().audit();
      LedgerView view = replica.view();
      if (view.running() + view.reserved() != 0 || view.audit() != LedgerView.Audit.CLEAN) {
        throw world.fail("not at rest: " + view);
      }
    }
    for (DeploymentRouter each : retired) {
      long left = each.queued() + RoutingProbe.notOver(each) + each.running() + each.reserved();
      if (left != 0) {
        throw world.fail(each.deployment() + " is gone, and has " + left + " requests");
      }
    }
    users.doors.stream()
        .filter(door -> door.parked.size() > 0)
        .findFirst()
        .ifPresent(door -> world.fail(door.parked.size() + " are parked for ever"));
    controls.forEach(each -> each.at.checkEmpty());
  }

  /** Of sorted figures. */
  static long percentile(long[] sorted, int percent) {
    return sorted[Math.min(sorted.length - 1, sorted.length * percent / 100)];
  }
}
