package dev.berth.simulation;

import dev.berth.api.DeploymentId;
import dev.berth.controller.BuiltApplication;
import dev.berth.controller.Controller;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.DeclaredApplication;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.Epoch;
import dev.berth.controller.RoutingPublisher;
import dev.berth.protocol.ApplicationStatus;
import dev.berth.protocol.DeploymentStatus;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.routing.RoutingFeed;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The real controller, publisher and feed with two instances that host replicas, on a network that
 * loses, doubles, delays and reorders, while applications are declared, changed and deleted,
 * replicas and controllers die. First ten rough minutes, then half an hour in which everything must
 * come to be as it was declared last.
 */
final class LifecycleSimulation implements LifecycleNode.Link {
  private static final long ROUGH_NANOS = TimeUnit.MINUTES.toNanos(10);
  private static final long CALM_NANOS = TimeUnit.MINUTES.toNanos(30);

  /** Wakes at one time after which a controller counts as spinning. */
  private static final int MAX_WAKES_AT_ONCE = 100;

  /** What a run came to. */
  record Result(
      long events,
      long hash,
      EnumMap<LifecycleFault, Integer> faults,
      Map<DeploymentStatus, Long> statuses,
      long refused) {}

  final World world;
  final SplittableRandom random;
  private final SplittableRandom network;
  private final SplittableRandom chances;
  private final int lossPercent;
  private final int latePercent;
  private boolean rough = true;

  final Map<String, LifecycleCode> store = new TreeMap<>(); // what is declared, durable
  final Map<String, LifecycleCode> previous = new TreeMap<>(); // what a rollback brings back
  final Map<DeploymentId, Integer> scales = new LinkedHashMap<>();
  @Nullable Double capacity;
  private final Map<Long, LifecycleCode> revisions = new TreeMap<>();
  private final Map<String, Long> buildsUntil = new TreeMap<>(); // by application: one at a time
  private final Set<String> loaded = new LinkedHashSet<>();
  long revision;
  int versions;

  final List<LifecycleNode> nodes = new ArrayList<>();
  final Map<String, DeploymentId> routes = new TreeMap<>();
  final LifecycleWatch watch;
  final EnumMap<LifecycleFault, Integer> faults = new EnumMap<>(LifecycleFault.class);
  @Nullable Controller controller;
  @Nullable RoutingPublisher publisher;
  final RoutingFeed feed;
  final Map<DeploymentId, DeploymentTarget> complete = new LinkedHashMap<>();
  private final Map<DeploymentId, Integer> wanted = new LinkedHashMap<>(); // by the feed
  private long term;
  private int replicas;
  private long armedNanos = Long.MAX_VALUE;
  private int wakes;
  private long wokenNanos;

  private LifecycleSimulation(long seed) {
    world = new World(seed);
    random = world.randomness();
    network = world.randomness();
    chances = world.randomness();
    boolean orderly = seed % 4 == 0;
    lossPercent = orderly ? 0 : network.nextInt(15);
    latePercent = orderly ? 0 : network.nextInt(10);
    watch = new LifecycleWatch(world, loaded);
    for (String name : List.of("n1", "n2")) {
      nodes.add(new LifecycleNode(name, world, this, loaded));
    }
    feed =
        new RoutingFeed(
            "n1",
            seed,
            snapshot -> world.note("routed", snapshot.version().counter()),
            message -> {
              RoutingPublisher own = publisher;
              if (own != null) {
                own.on(message);
              }
            },
            world.getAsLong());
  }

  static Result run(long seed) {
    LifecycleSimulation simulation = new LifecycleSimulation(seed);
    try {
      return simulation.run();
    } catch (RuntimeException | AssertionError broken) {
      throw new SimulationFailure(
          broken.getMessage()
              + ", seed "
              + seed
              + ", event "
              + simulation.world.ran()
              + "\n"
              + String.join("\n", simulation.world.tail()),
          broken);
    }
  }

  private Result run() {
    LifecycleFaults driver = new LifecycleFaults(this);
    controllerStarts();
    driver.begin();
    runUntil(ROUGH_NANOS);
    rough = false;
    driver.end();
    if (controller == null) {
      controllerStarts();
    }
    LifecycleEnd end = new LifecycleEnd(this);
    runUntil(ROUGH_NANOS + CALM_NANOS / 10);
    store.values().stream().filter(this::hasFailed).forEach(this::declareAgain);
    runUntil(ROUGH_NANOS + CALM_NANOS);
    end.check();
    long refused = nodes.stream().mapToLong(node -> node.refused).sum();
    return new Result(world.ran(), world.hash(), faults, watch.statuses, refused);
  }

  /** Though it is good: what crashed from outside while it was on trial was held against it. */
  private boolean hasFailed(LifecycleCode code) {
    return code.parts().stream().allMatch(LifecycleCode.Part::isGood)
        && controller != null
        && controller.applications().get(code.application()) == ApplicationStatus.DEPLOY_FAILED;
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

  static long millis(long millis) {
    return TimeUnit.MILLISECONDS.toNanos(millis);
  }

  // --- what is declared ---

  void declare(LifecycleCode code) {
    LifecycleCode before = store.put(code.application(), code);
    if (before != null) {
      previous.put(code.application(), before);
      before.parts().forEach(part -> scales.remove(before.id(part)));
    }
    revisions.put(code.revision(), code);
    world.note("declare", code.toString());
    tell(declared(code));
  }

  /** The same again: the target capacity is another one. */
  void declareAgain(LifecycleCode code) {
    tell(declared(code));
  }

  private ControllerEvent declared(LifecycleCode code) {
    Map<String, Integer> own = new LinkedHashMap<>();
    for (LifecycleCode.Part part : code.parts()) {
      Integer scaled = scales.get(code.id(part));
      if (scaled != null) {
        own.put(part.name(), scaled);
      }
    }
    return new ControllerEvent.Declared(
        new DeclaredApplication(
            code.application(), code.revision(), code.prefix(), "{}", true, 0, null, own));
  }

  void withdraw(String application) {
    LifecycleCode gone = store.remove(application);
    if (gone != null) {
      previous.put(application, gone);
      gone.parts().forEach(part -> scales.remove(gone.id(part)));
      world.note("withdraw", application);
      tell(new ControllerEvent.Withdrawn(application));
    }
  }

  void scale(DeploymentId id, int to) {
    scales.put(id, to);
    world.note("scale", id + " to " + to);
    tell(new ControllerEvent.Scaled(id, to));
  }

  // --- the controller ---

  void controllerDies() {
    world.note("controller", "dies");
    controller = null;
    publisher = null;
    world.after(millis(random.nextInt(20_000)), "controller", this::controllerStarts);
  }

  private void controllerStarts() {
    if (controller != null) {
      return;
    }
    Epoch epoch = new Epoch(++term, "n1");
    world.note("controller", epoch.toString());
    Controller next =
        new Controller(
            epoch,
            deployment -> deployment + "#" + ++replicas,
            id -> chances.nextInt(5) - 1,
            chances::nextDouble,
            () -> TimeUnit.NANOSECONDS.toMillis(world.elapsedNanos()),
            settings -> Map.of());
    controller = next;
    armedNanos = Long.MAX_VALUE;
    watch.begins(epoch);
    inventories = 0; // those of an earlier controller were told to it alone
    publisher =
        new RoutingPublisher(
            term,
            id -> store.containsKey(id.application()),
            (node, message) -> feed.on(message, world.getAsLong()));
    publisher.greet("n1");
    next.recover(nodes.stream().map(node -> node.name).toList(), world.getAsLong());
    store.values().forEach(code -> tell(declared(code)));
    Set<String> heard = new LinkedHashSet<>();
    for (LifecycleNode node : nodes) {
      world.after(
          millis(network.nextInt(rough ? 4_000 : 10)),
          "inventory",
          () -> {
            if (controller == next && heard.add(node.name)) {
              node.blockedUntilNanos = Math.min(node.blockedUntilNanos, world.elapsedNanos());
              node.inventory(epoch);
            }
          });
    }
  }

  /** Tells the controller, if there is one, and does what it asks for. */
  void tell(ControllerEvent event) {
    Controller own = controller;
    if (own == null) {
      return;
    }
    world.note("told", event.toString());
    watch.told(event);
    if (event instanceof ControllerEvent.Inventory) {
      inventories++;
    }
    turn(() -> own.on(event, world.getAsLong()));
  }

  private int inventories;

  private void turn(Supplier<List<ControllerAction>> decide) {
    Controller own = controller;
    List<ControllerAction> actions = decide.get();
    if (inventories == nodes.size()) {
      inventories = 0;
      watch.recovering = false;
    }
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
    if (action instanceof ControllerAction.Build build) {
      build(build);
    } else if (action instanceof ControllerAction.DiscardBuild discard) {
      loaded.remove(discard.build());
    } else if (action instanceof ControllerAction.StartReplica start) {
      command(start.replicaId(), action);
    } else if (action instanceof ControllerAction.StopReplica stop) {
      command(stop.replicaId(), action);
    } else if (action instanceof ControllerAction.ReconfigureReplica reconfigure) {
      command(reconfigure.replicaId(), action);
    } else if (action instanceof ControllerAction.Publish publish) {
      RoutingPublisher own = publisher;
      if (own != null) {
        own.publish(publish.snapshot());
      }
    } else if (action instanceof ControllerAction.Configure configure) {
      if (wanted.put(configure.target().id(), 1) == null) {
        feed.want(configure.target().id(), world.getAsLong());
      }
    } else if (action instanceof ControllerAction.Forget forget) {
      RoutingPublisher own = publisher;
      if (own != null) {
        own.forget(forget.deployment());
      }
      wanted.remove(forget.deployment());
      feed.forget(forget.deployment());
    } else if (action instanceof ControllerAction.Remember remember) {
      if (remember.complete() == null) {
        complete.remove(remember.deployment());
      } else {
        complete.put(remember.deployment(), remember.complete());
      }
    } else if (action instanceof ControllerAction.RouteTo route) {
      routes.put(route.application(), route.ingress());
    } else if (action instanceof ControllerAction.Unroute unroute) {
      routes.remove(unroute.application());
    }
  }

  /** One build of an application after the other, as the last is what counts. */
  private void build(ControllerAction.Build action) {
    long begins =
        Math.max(world.elapsedNanos(), buildsUntil.getOrDefault(action.application(), 0L));
    long ends = begins + millis(10 + random.nextInt(4_000));
    buildsUntil.put(action.application(), ends);
    world.after(
        ends - world.elapsedNanos(),
        "built",
        () -> {
          LifecycleCode code = revisions.get(action.revision());
          if (controller == null || code == null) {
            return;
          }
          if (code.build() == null) {
            tell(
                new ControllerEvent.BuildFailed(
                    action.application(), action.revision(), "no such class"));
            return;
          }
          loaded.add(code.build());
          BuiltApplication built = code.built(capacity);
          tell(new ControllerEvent.Built(action.application(), action.revision(), built));
        });
  }

  LifecycleNode nodeOf(String replicaId) {
    return nodes.get(Math.floorMod(replicaId.hashCode(), nodes.size()));
  }

  // --- the network ---

  private void command(String replicaId, ControllerAction action) {
    LifecycleNode node = nodeOf(replicaId);
    for (int copies = copies(); copies > 0; copies--) {
      world.after(delay(node), "command", () -> node.command(action));
    }
  }

  private int copies() {
    if (!rough) {
      return 1;
    }
    int lot = network.nextInt(100);
    return lot < lossPercent ? 0 : lot < 2 * lossPercent ? 2 : 1;
  }

  private long delay(LifecycleNode node) {
    long delay = millis(network.nextInt(20));
    if (rough && network.nextInt(100) < latePercent) {
      delay = millis(network.nextInt(20_000));
    }
    return Math.max(delay, node.blockedUntilNanos - world.elapsedNanos());
  }

  @Override
  public void answer(LifecycleNode from, ControllerEvent event) {
    for (int copies = copies(); copies > 0; copies--) {
      world.after(delay(from), "answer", () -> tell(event));
    }
  }

  @Override
  public void report(LifecycleNode from, ControllerEvent event) {
    long arrives =
        Math.max(from.saidNanos + 1, world.elapsedNanos() + Math.min(delay(from), millis(4_000)));
    from.saidNanos = arrives;
    world.after(arrives - world.elapsedNanos(), "report", () -> tell(event));
  }

  @Override
  public List<DeploymentTarget> complete() {
    return List.copyOf(complete.values());
  }

  /** The snapshot that routers hold; null when none has come. */
  @Nullable RoutingSnapshot routed(DeploymentId id) {
    return feed.last(id);
  }
}
