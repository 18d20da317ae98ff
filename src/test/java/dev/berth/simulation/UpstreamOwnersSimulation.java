package dev.berth.simulation;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.UpstreamOptions;
import dev.berth.config.keys.Settings;
import dev.berth.controller.BuiltApplication;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.DeclaredApplication;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.DeploymentVersion;
import dev.berth.simulation.UpstreamFaults.FaultKind;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Nodes that own upstreams, under the real controller and the real registry of nodes. Clocks,
 * links, processes, the log's commits and the servers are simulated.
 *
 * <p><b>Claims.</b> At each event, the requests of a replica at its server and the slots that it
 * may use are within its grant in the log, and the grants of a server within its maximum. A lowered
 * maximum counts once the log's sum has reached it and no earlier proposal is open. Once all faults
 * have ended, each server's whole maximum is open within {@link #SETTLE_MS}.
 */
final class UpstreamOwnersSimulation {
  static final long MS = 1_000_000;
  static final long TIMEOUT_NANOS = 2_500 * MS;
  private static final long SETTLE_MS = 400_000;

  /** Maximum of grants, shares and dials of all upstreams in a minute. */
  private static final int MAX_ACTIONS = 2_500;

  private static final int MAX_WAKES = 1_000;

  /**
   * Outcome of a seed.
   *
   * @param gaps milliseconds without the whole maximum, by the fault before
   * @param counts further counters
   */
  record UpstreamRun(
      long hash,
      long events,
      Map<FaultKind, List<Long>> gaps,
      Map<FaultKind, Integer> faults,
      Map<String, Long> counts)
      implements SeededRuns.Result {}

  /** A host, with at most one process. */
  static final class NodeMachine {
    final String name;
    final boolean isControl;
    @Nullable UpstreamOwner process;
    boolean cutUp;
    boolean cutDown;

    NodeMachine(String name, boolean isControl) {
      this.name = name;
      this.isControl = isControl;
    }
  }

  /** An upstream that counts its requests. */
  static final class CountingServer {
    final String key;
    final boolean stops; // at the close of a connection
    final Map<String, Integer> running = new HashMap<>(); // by replica id
    String application;
    int maximum;
    int owners = 1;
    int bound; // of the grants
    boolean isWithdrawn;
    boolean isWhole;
    long lackingSince;
    FaultKind lackingBy = FaultKind.ROLL;
    long lastStart;

    CountingServer(String key, boolean stops, String application, int maximum) {
      this.key = key;
      this.stops = stops;
      this.application = application;
      this.maximum = maximum;
    }
  }

  final World world;
  final SplittableRandom random;
  private final UpstreamFaults faultSource = new UpstreamFaults(this);
  final GrantLog log = new GrantLog(this);
  final Map<String, CountingServer> servers = new TreeMap<>();
  final List<NodeMachine> machines = new ArrayList<>();
  final Map<String, Long> revisions = new TreeMap<>(); // of declared applications
  private final Map<String, BuiltApplication> built = new HashMap<>(); // by name and revision
  private final Map<DeploymentId, DeploymentTarget> complete = new LinkedHashMap<>();
  private final Map<FaultKind, List<Long>> gaps = new EnumMap<>(FaultKind.class);
  final Map<FaultKind, Integer> faults = new EnumMap<>(FaultKind.class);
  @Nullable UpstreamControl control;
  final long leaseMillis;
  final int orphanMillis; // also the longest request
  final boolean failsStarts;
  boolean isCalm;
  long term;
  long replicas;
  long requests;
  long lapses;
  long lateCommits;
  private long version;
  private long watches;
  private int actions; // in this minute
  private int allActions;
  private int wakes; // in this minute
  private int maxActions;
  FaultKind lastFault = FaultKind.ROLL;

  private UpstreamOwnersSimulation(long seed) {
    world = new World(seed);
    random = world.randomness();
    failsStarts = random.nextInt(4) == 0;
    leaseMillis = random.nextBoolean() ? 0 : 8_000 + random.nextInt(12_000);
    orphanMillis = leaseMillis == 0 || random.nextInt(3) == 0 ? 60_000 : 15_000;
  }

  static UpstreamRun run(long seed) {
    UpstreamOwnersSimulation sim = new UpstreamOwnersSimulation(seed);
    String test = "UpstreamOwnersSimulationTest";
    return sim.world.told(seed, test, "simulation.upstreams.seed", sim::run);
  }

  private UpstreamRun run() {
    int nodes = 2 + random.nextInt(4);
    for (int i = 1; i <= nodes; i++) {
      machines.add(new NodeMachine("n" + i, nodes < 3 ? i == 1 : i <= 3));
    }
    machines.forEach(this::spawn);
    addServer("http://a", "app");
    addServer("http://b", "app");
    addServer("http://c", "other");
    declare("app");
    declare("other");
    elect();
    long until = (random.nextInt(8) == 0 ? 400_000 : leaseMillis == 0 ? 120_000 : 200_000) * MS;
    after(20_000, () -> faultSource.next(until));
    after(1_000, this::watch);
    world.runTo(until, () -> {});
    faultSource.heal();
    long healed = world.elapsedNanos();
    world.runUntil(
        () -> servers.values().stream().allMatch(this::isSettled),
        () -> {
          if (world.elapsedNanos() - healed > SETTLE_MS * MS) {
            throw world.fail("not settled: " + servers.values().stream().map(this::text).toList());
          }
        });
    long settled = (world.elapsedNanos() - healed) / MS;
    world.runTo(world.elapsedNanos() + 100_000 * MS, () -> {});
    int before = allActions;
    world.runTo(world.elapsedNanos() + 20_000 * MS, () -> {});
    world.failIf(
        allActions > before || !servers.values().stream().allMatch(this::isSettled),
        () ->
            "no rest: %d actions in a calm minute%s"
                .formatted(
                    allActions - before, servers.values().stream().map(this::text).toList()));
    return new UpstreamRun(
        world.hash(),
        world.ran(),
        gaps,
        faults,
        new TreeMap<>(
            Map.of(
                "settled",
                settled,
                "requests",
                requests,
                "lapses",
                lapses,
                "late commits",
                lateCommits,
                "terms",
                term,
                "actions",
                (long) maxActions)));
  }

  private void addServer(String key, String application) {
    int maximum = 2 + random.nextInt(6);
    servers.put(key, new CountingServer(key, random.nextBoolean(), application, maximum));
  }

  void after(double millis, Runnable task) {
    world.after((long) (millis * MS), "timer", task);
  }

  CountingServer server(String key) {
    return servers.get(UpstreamOptions.withoutPart(key));
  }

  NodeMachine machine(String name) {
    return machines.stream().filter(each -> each.name.equals(name)).findFirst().orElseThrow();
  }

  // --- claims ---

  void count(CountingServer server, String replicaId, int change) {
    server.running.merge(replicaId, change, (all, one) -> all + one == 0 ? null : all + one);
    if (change > 0) {
      server.lastStart = world.elapsedNanos();
      check(server);
    }
  }

  private List<HostedUpstream> hosted(Predicate<UpstreamOwner> owners) {
    List<HostedUpstream> all = new ArrayList<>();
    for (NodeMachine each : machines) {
      if (each.process != null && owners.test(each.process)) {
        all.addAll(each.process.hosted.values());
      }
    }
    return all;
  }

  void check(CountingServer server) {
    int sum = log.sum(server.key);
    int limit = Math.max(server.maximum, log.limitInFlight(server.key));
    server.bound = Math.max(limit, Math.min(server.bound, sum));
    world.failIf(sum > server.bound, () -> "granted " + sum + " of " + server.bound);
    server.running.forEach(
        (id, now) -> world.failIf(now > log.granted(id), () -> id + " runs " + now + text(server)));
    for (HostedUpstream each : hosted(any -> true)) {
      world.failIf(
          each.server == server && each.open() > log.granted(each.id),
          () -> each.id + " may run " + each.open() + text(server));
    }
  }

  private String text(CountingServer server) {
    return " of %s %d: running %s, grants %s, lease %d"
        .formatted(
            server.key,
            server.maximum,
            server.running,
            log.registry.upstreamGrants().stream()
                .filter(each -> each.upstream().equals(server.key))
                .map(each -> each.replicaId() + " " + each.node() + " " + each.maximum())
                .toList(),
            leaseMillis);
  }

  private int open(CountingServer server) {
    return hosted(each -> !each.paused).stream()
        .filter(each -> each.server == server)
        .mapToInt(HostedUpstream::open)
        .sum();
  }

  private boolean isSettled(CountingServer server) {
    long parts =
        hosted(any -> true).stream()
            .filter(each -> each.server == server && each.open() > 0)
            .count();
    return log.sum(server.key) == server.maximum
        && open(server) == server.maximum
        && parts == server.owners
        && world.elapsedNanos() - server.lastStart < 65_000 * MS; // requests end within 60 s
  }

  private void watch() {
    for (CountingServer each : servers.values()) {
      boolean isWhole = open(each) == each.maximum && !each.isWithdrawn;
      if (each.isWhole && !isWhole) {
        each.lackingSince = world.elapsedNanos();
        each.lackingBy = lastFault;
      } else if (!each.isWhole && isWhole && each.lackingSince > 0) {
        long gap = (world.elapsedNanos() - each.lackingSince) / MS;
        gaps.computeIfAbsent(each.lackingBy, none -> new ArrayList<>()).add(gap);
      }
      each.isWhole = isWhole;
    }
    if (++watches % 120 == 0) {
      actions = 0;
      wakes = 0;
    }
    after(500, this::watch);
  }

  void onWake() {
    world.failIf(++wakes > MAX_WAKES, () -> wakes + " wakes of the controller in a minute");
  }

  void onAction(ControllerAction action) {
    world.mix(action.getClass().getSimpleName().hashCode());
    if (action instanceof ControllerAction.GrantUpstreams
        || action instanceof ControllerAction.ShareUpstream
        || action instanceof ControllerAction.ProbeOwner) {
      world.note(control == null ? "" : control.host.bus, action);
      allActions++;
      maxActions = Math.max(maxActions, ++actions);
      world.failIf(actions > MAX_ACTIONS, () -> "storm: " + action);
      if (!isCalm && action instanceof ControllerAction.GrantUpstreams && random.nextInt(25) == 0) {
        after(random.nextInt(1_500), faultSource::restart); // while its commit is open
      }
    } else if (action instanceof ControllerAction.Remember it) {
      if (it.complete() == null) {
        complete.remove(it.deployment());
      } else {
        complete.put(it.deployment(), it.complete());
      }
    }
  }

  List<DeploymentTarget> complete() {
    return List.copyOf(complete.values());
  }

  // --- applications ---

  void declare(String name) {
    long revision = revisions.merge(name, ++version, (before, next) -> next);
    List<Settings> entries = new ArrayList<>();
    int parts = 0;
    for (CountingServer each : servers.values()) {
      if (each.application.equals(name)) {
        parts += each.owners;
        entries.add(
            UpstreamOptions.fromUserConfig(
                Map.of(
                    "url", each.key,
                    "max_ongoing_requests", each.maximum,
                    "owners", each.owners,
                    "stops_on_close", each.stops,
                    "orphan_s", orphanMillis / 1_000)));
      }
    }
    Settings settings =
        DeploymentConfig.withReplicas(DeploymentConfig.of("models"), parts)
            .with(DeploymentConfig.UPSTREAMS, entries);
    DeploymentTarget target =
        new DeploymentTarget(
            new DeploymentId(name, "models"),
            "build",
            new DeploymentVersion("proxy", "" + revision),
            settings);
    built.put(
        name + revision, new BuiltApplication("build", "models", List.of(target), null, null));
    declared().stream().filter(each -> each.application().name().equals(name)).forEach(this::tell);
  }

  List<ControllerEvent.Declared> declared() {
    return revisions.entrySet().stream()
        .map(
            each ->
                new ControllerEvent.Declared(
                    DeclaredApplication.of(
                        each.getKey(), each.getValue(), "/" + each.getKey(), "{}", 0)))
        .toList();
  }

  ControllerEvent built(String application, long revision) {
    return new ControllerEvent.Built(application, revision, built.get(application + revision));
  }

  void tell(ControllerEvent event) {
    UpstreamControl now = control;
    if (now != null) {
      now.host.receive(() -> now.tell(event));
    }
  }

  void tell(UpstreamOwner from, ControllerEvent event) {
    if (control != null && control.host == from) {
      control.tell(event);
    }
  }

  void leave(UpstreamOwner node) {
    if (control != null && control.host == node) {
      control.leave(node);
    }
  }

  void empty(UpstreamOwner node) {
    if (control != null && control.host == node) {
      control.onEmptied(node);
    }
  }

  // --- processes ---

  private void spawn(NodeMachine machine) {
    if (machine.process == null) {
      machine.process = new UpstreamOwner(this, machine, "p" + ++version);
    }
  }

  void killIf(NodeMachine machine, String bus) {
    if (machine.process != null && machine.process.bus.equals(bus)) {
      kill(machine.process);
    }
  }

  void kill(UpstreamOwner owner) {
    NodeMachine machine = owner.machine;
    if (machine.process != owner) {
      return;
    }
    machine.process = null;
    owner.die();
    after(500 + random.nextInt(isCalm ? 2_000 : 20_000), () -> spawn(machine));
    if (control != null && control.host == owner) {
      onControlEnded();
    }
  }

  void onControlEnded() {
    control = null;
    log.onControlEnded();
    for (NodeMachine each : machines) {
      UpstreamOwner at = each.process;
      if (at != null && !each.cutDown) {
        after(1 + random.nextInt(20), () -> at.run(at::closeLink));
      }
    }
    after(200 + random.nextInt(2_000), this::elect);
  }

  List<NodeMachine> electable() {
    return machines.stream()
        .filter(each -> each.isControl && !each.cutUp && !each.cutDown)
        .filter(each -> each.process != null && !each.process.paused && !each.process.leaving)
        .toList();
  }

  private void elect() {
    List<NodeMachine> candidates = electable();
    long all = machines.stream().filter(each -> each.isControl).count();
    if (control == null && 2L * candidates.size() > all) {
      log.onNextTerm();
      UpstreamOwner host = candidates.get(random.nextInt(candidates.size())).process;
      control = new UpstreamControl(this, host);
      control.start();
    } else if (control == null) {
      after(300, this::elect);
    }
  }

  /** Returns whether no control node listens and a dial of them from this host is refused. */
  boolean refusesControl(NodeMachine from) {
    return !from.cutUp && !from.cutDown;
  }

  /** Returns whether the data port of a host refuses a connection. */
  boolean refuses(String host) {
    NodeMachine at = machine(host);
    return at.process == null && !at.cutUp && !at.cutDown;
  }
}
