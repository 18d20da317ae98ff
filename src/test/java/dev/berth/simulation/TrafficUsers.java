package dev.berth.simulation;

import dev.berth.api.BerthException;
import dev.berth.api.DeploymentId;
import dev.berth.api.Request;
import dev.berth.api.Response;
import dev.berth.ingress.IngressRoute;
import dev.berth.ingress.RouteTraffic;
import dev.berth.ingress.split.ShadowCopies;
import dev.berth.ingress.split.ShadowTarget;
import dev.berth.metrics.HttpMeters;
import dev.berth.metrics.Meters;
import dev.berth.routing.CallObserver;
import dev.berth.routing.DeploymentRouter;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.RouterLoop;
import dev.berth.routing.RoutingProbe;
import dev.berth.routing.traffic.ParkedRequests;
import dev.berth.routing.traffic.RequestHead;
import dev.berth.routing.traffic.TrafficPolicy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Who asks on the route, each event loop's share of the ingress, and what they may expect. */
final class TrafficUsers {
  private static final int ARRIVALS = 400;
  private static final long TICK_NANOS = ClusterRun.millis(25);

  /** Sides of a stretch, by which it is told from others. */
  record Stretch(List<DeploymentId> sides, List<Double> weights) {
    double share(int side) {
      return weights.get(side) / weights.stream().mapToDouble(each -> each).sum();
    }

    double weight(DeploymentId of) {
      int side = sides.indexOf(of);
      return side < 0 ? 0 : weights.get(side);
    }
  }

  private record KeyAt(Stretch stretch, DeploymentId side) {}

  private record KeyHome(Set<String> replicas, String home) {}

  /** What an event loop's ingress has, as {@code IngressLoop} does it. */
  final class Door {
    final SimulatedInstance at;
    final int loop;
    final RouterLoop router;
    final ParkedRequests<User> parked;
    private final SplittableRandom draws;
    private final SplittableRandom copyDraws; // of their own: users' draws stay as they are
    private final HttpMeters meters;
    private final Map<IngressRoute, List<ShadowTarget>> bound = new HashMap<>();

    Door(SimulatedInstance at, int loop, Meters meters) {
      this.at = at;
      this.loop = loop;
      this.router = at.routers.loop(loop);
      this.parked = new ParkedRequests<>(router.bounds());
      this.draws = random.split();
      this.copyDraws = random.split();
      this.meters = meters.addIngressLoop();
    }

    void take(User user) {
      IngressRoute route = simulation.route(at);
      if (route.parkNanos() == 0) {
        go(user, route);
        return;
      }
      user.parkedUntil = router.now() + route.parkNanos();
      if (!parked.tryAdd(user, user.parkedUntil)) {
        throw world.fail(user + ": no place to be parked");
      }
      simulation.met(TrafficSimulation.Met.PARKED);
    }

    void unpark() {
      IngressRoute route = simulation.route(at);
      for (User each : inOrder(parked.takeIf(all -> route.parkNanos() == 0))) {
        if (!each.answered) {
          simulation.met(TrafficSimulation.Met.WENT_ON);
          go(each, route);
        }
      }
    }

    private List<User> inOrder(List<User> some) {
      for (int i = 1; i < some.size(); i++) {
        if (some.get(i - 1).number > some.get(i).number) {
          throw world.fail(some.get(i) + " is unparked behind " + some.get(i - 1));
        }
      }
      return some;
    }

    void sweep() {
      long now = router.now();
      for (User each : active) {
        if (each.parkedHere(this) && each.late(now)) {
          each.answer("timed out");
        }
      }
      parked.takeIf(user -> user.answered);
      for (User late : inOrder(parked.overdue(now))) {
        simulation.met(TrafficSimulation.Met.LEADS_NOWHERE);
        late.answer("leads nowhere");
      }
      for (User each : active) {
        boolean overdue = each.parkedHere(this) && now - each.parkedUntil >= 0;
        if (each.door == this
            && !each.answered
            && world.elapsedNanos() - each.askedNanos > 2 * TICK_NANOS
            && (overdue || each.late(now - 2 * TICK_NANOS))) {
          throw world.fail(each + ": no answer by its deadline");
        }
      }
    }

    private void go(User user, IngressRoute route) {
      RouteTraffic traffic = route.traffic();
      TrafficPolicy policy = traffic.policy();
      TrafficPolicy.TrafficChoice choice = policy.choose(user, draws);
      user.side = policy.sides().get(choice.side());
      user.table = route;
      checkChoice(user, policy, choice);
      DeploymentRouter to = traffic.sides().get(choice.side()).router();
      user.to = to;
      Map<String, Boolean> settled = settled(user, to);
      Request request = Request.get("/" + user.number);
      calling = user;
      user.call = RoutedCall.start(to, router, request, user, router.now());
      calling = null;
      user.place = RoutingProbe.place(user.call);
      if (settled != null && user.granted()) {
        checkHome(user, settled);
      }
      if (!user.answered && simulation.shadowed) {
        user.copies = ShadowCopies.of(bound.computeIfAbsent(route, this::bind));
        long[] before = simulation.takenByCopies();
        user.copies.make(request, user, router, copyDraws, router.now());
        simulation.checkCopies(at, before);
      }
    }

    private List<ShadowTarget> bind(IngressRoute route) {
      List<ShadowTarget> all = new ArrayList<>();
      RouteTraffic traffic = route.traffic();
      for (int i = 0; i < traffic.shadows().size(); i++) {
        DeploymentRouter to = traffic.shadows().get(i);
        all.add(
            new ShadowTarget(
                traffic.policy().shadows().get(i), to, meters.shadow("/r", to.deployment())));
      }
      return all;
    }

    /** Which replicas have a slot, if the ring alone decides among them. */
    private @Nullable Map<String, Boolean> settled(User user, DeploymentRouter to) {
      return user.key != null
              && simulation.isRing(to)
              && !at.isBlocked(0)
              && !at.isBlocked(1)
              && to.queued() == 0
          ? simulation.freeHere(at, to)
          : null;
    }
  }

  /** One request. */
  final class User implements CallObserver, RequestHead {
    final int number = all.size();
    final Door door;
    final @Nullable String key;
    final boolean canary;
    final long deadlineNanos; // or Long.MAX_VALUE
    final long patienceNanos; // until it is given up, or Long.MAX_VALUE
    @Nullable DeploymentId side;
    @Nullable IngressRoute table; // by which it was chosen for
    @Nullable RoutedCall call;
    @Nullable ShadowCopies copies;
    @Nullable DeploymentRouter to;
    long arrivedNanos; // on the loop's clock
    long askedNanos = Long.MAX_VALUE; // the same, elapsed; not yet
    long parkedUntil;
    long place;
    long grantedNanos = -1;
    @Nullable String replica;
    boolean answered;

    User() {
      door = doors.get(random.nextInt(doors.size()));
      key = random.nextInt(5) < 2 ? "k" + (number / 100 * 5 + random.nextInt(10)) : null;
      canary = random.nextInt(12) == 0;
      int most = random.nextInt(4) == 0 ? 30 : 800;
      long within = ClusterRun.millis(5 + random.nextInt(most));
      deadlineNanos = simulation.rough ? world.getAsLong() + within : Long.MAX_VALUE;
      long patience = random.nextInt(8) == 0 ? random.nextLong(ClusterRun.millis(30)) : -1;
      patienceNanos = simulation.rough && patience >= 0 ? patience : Long.MAX_VALUE;
    }

    boolean late(long now) {
      return deadlineNanos != Long.MAX_VALUE && now - deadlineNanos >= 0;
    }

    boolean parkedHere(Door at) {
      return door == at && !answered && parkedUntil != 0 && call == null;
    }

    boolean granted() {
      return grantedNanos >= 0;
    }

    private void giveUp() {
      if (answered) {
        return;
      }
      if (copies != null) {
        copies.cancel();
      }
      if (call != null) {
        call.cancel();
      } else {
        answer("cancelled");
      }
    }

    private void answer(String how) {
      world.failIf(answered, () -> this + ": a second answer, " + how);
      answered = true;
      waiting--;
      answers.merge(how, 1, Integer::sum);
      world.note("answered", this + " " + how);
    }

    @Override
    public @Nullable String get(RequestPartKind part, String name) {
      return name.equals("x-canary") ? canary ? "always" : null : key;
    }

    @Override
    public String requestId() {
      return "u" + number;
    }

    @Override
    public String sessionId() {
      return key == null ? "" : key;
    }

    @Override
    public long arrivedNanos() {
      return arrivedNanos;
    }

    @Override
    public long deadlineNanos() {
      return deadlineNanos;
    }

    @Override
    public void onRouted(String replicaId) {
      replica = replicaId;
      grantedNanos = world.elapsedNanos();
      if (table != simulation.route(door.at)) {
        simulation.met(TrafficSimulation.Met.WAITED_ACROSS_A_CHANGE);
      }
    }

    @Override
    public void onResponse(Response response, String replicaId) {
      String text = ((Response.Body.Whole) response.body()).bytes().toString();
      if (!replicaId.startsWith(side + "#") || !text.equals("/" + number)) {
        throw world.fail(this + ": " + text + " of " + replicaId);
      }
      if (copies != null) {
        copies.userGot(response);
      }
      answer("served");
    }

    @Override
    public void onFailure(BerthException failure) {
      boolean mayFail =
          switch (failure.kind()) {
            case BACK_PRESSURE, TIMEOUT, CANCELLED, REPLICA_UNAVAILABLE, OUTCOME_UNKNOWN ->
                simulation.rough;
            case DEPLOYMENT_UNAVAILABLE -> simulation.vanishedAfter(side, askedNanos);
            default -> false;
          };
      if (!mayFail) {
        throw world.fail(this + ": " + failure, failure);
      }
      answer(failure.kind().name());
    }

    @Override
    public String toString() {
      return requestId() + " at " + door.at.node + "/" + door.loop + " to " + side;
    }
  }

  private final World world;
  private final TrafficSimulation simulation;
  private final SplittableRandom random;
  private final long gapNanos;
  final List<Door> doors = new ArrayList<>();
  final List<User> all = new ArrayList<>();
  private final List<User> active = new ArrayList<>();
  final Map<String, Integer> answers = new HashMap<>();
  final Map<Stretch, int[]> drawn = new HashMap<>();
  private final Map<String, KeyAt> keys = new HashMap<>();
  private final Map<String, KeyHome> homes = new HashMap<>();
  private @Nullable User calling;
  private int last = ARRIVALS; // arrivals of this life and of those before
  int waiting;

  /**
   * @param random the users' own: the same whatever else happens
   */
  TrafficUsers(
      TrafficSimulation simulation, SplittableRandom random, long gapNanos, Meters meters) {
    this.simulation = simulation;
    this.world = simulation.world;
    this.random = random;
    this.gapNanos = gapNanos;
    for (SimulatedInstance at : simulation.instances) {
      for (int loop = 0; loop < SimulatedInstance.LOOPS; loop++) {
        doors.add(new Door(at, loop, meters));
      }
    }
  }

  boolean closed() {
    return all.size() >= last;
  }

  /** Begins; again, once all have an answer. */
  void start() {
    last = all.size() + ARRIVALS;
    world.after(ClusterRun.millis(50), "arrival", this::arrive);
  }

  private void arrive() {
    User user = new User();
    all.add(user);
    active.removeIf(each -> each.answered);
    active.add(user);
    waiting++;
    SimulatedLoop loop = user.door.at.loops.get(user.door.loop);
    loop.execute(
        () -> {
          user.askedNanos = world.elapsedNanos();
          user.arrivedNanos = world.getAsLong();
          if (!user.answered) {
            user.door.take(user);
          }
        });
    if (user.patienceNanos != Long.MAX_VALUE) {
      loop.start(user.patienceNanos, user::giveUp);
    }
    if (!closed()) {
      long gap = random.nextInt(3) > 0 ? random.nextLong(gapNanos) : random.nextLong(4 * gapNanos);
      world.after(gap, "arrival", this::arrive);
    }
  }

  // --- what must hold ---

  /** A match wins; a key stays while the weights hold, and moves as they moved; chance is fair. */
  private void checkChoice(User user, TrafficPolicy policy, TrafficPolicy.TrafficChoice choice) {
    Stretch now = new Stretch(policy.sides(), policy.weights());
    boolean matched = user.canary && !policy.matches().isEmpty();
    if (matched != (choice.match() >= 0) || (matched && !user.side.name().equals("d1"))) {
      throw world.fail(user + ": chosen by " + policy.why(choice));
    }
    if (matched) {
      return;
    }
    if (user.key == null) {
      drawn.computeIfAbsent(now, made -> new int[made.sides.size()])[choice.side()]++;
      return;
    }
    KeyAt was = keys.put(user.key, new KeyAt(now, user.side));
    if (was != null && !was.side.equals(user.side)) {
      simulation.met(TrafficSimulation.Met.KEY_MOVED);
      boolean fell = now.weight(was.side) < was.stretch.weight(was.side);
      boolean rose = now.weight(user.side) > was.stretch.weight(user.side);
      if (!fell && !rose) {
        throw world.fail(user + ": its key was at " + was + " (expected: there, at " + now + ")");
      }
    }
  }

  /** On a ring a key moves only from a replica that left, or is full, or to one that joined. */
  private void checkHome(User user, Map<String, Boolean> free) {
    String name = user.door.at.node + user.side + user.key;
    KeyHome was = homes.get(name);
    if (was != null && !was.home.equals(user.replica)) {
      simulation.met(TrafficSimulation.Met.KEY_LEFT_HOME);
      if (free.getOrDefault(was.home, false) && was.replicas.contains(user.replica)) {
        throw world.fail(user + ": at " + user.replica + " (expected: as " + was + ")");
      }
    }
    if (!free.containsValue(false)) {
      simulation.met(TrafficSimulation.Met.KEY_AT_HOME);
      homes.put(name, new KeyHome(free.keySet(), user.replica));
    }
  }

  /** A slot goes to the oldest of its router, who has the place that it had. */
  void granted(SimulatedInstance at, Runnable grant) {
    User taker = calling; // it is told of its call later
    long place = RoutingProbe.place(grant);
    for (User each : active) {
      taker = each.call == grant ? each : taker;
    }
    world.failIf(taker == null, () -> "place " + place + " is nobody's: a copy waited");
    if (taker.place != 0 && taker.place != place) {
      throw world.fail(taker + ": in place " + place + " (expected: " + taker.place + ")");
    }
    for (User each : active) {
      if (each.call != null
          && each.call != grant
          && each.to == taker.to
          && RoutingProbe.isWaiting(each.call)
          && RoutingProbe.place(each.call) < place
          && !at.isBlocked(each.door.loop)) {
        throw world.fail(taker + " was served before " + each);
      }
    }
  }
}
