package dev.berth.simulation;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.keys.Settings;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.fakes.Rollouts;
import dev.berth.node.SimulatedProcess.Instance;
import dev.berth.replica.Replica;
import dev.berth.simulation.LifecycleCode.Part;
import dev.berth.simulation.LifecycleSimulation.Link;
import dev.berth.simulation.LifecycleUserCode.Handler;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Whoever changes what is declared, and whatever goes wrong. Seeded. */
final class LifecycleFaults {
  private static final List<String> APPLICATIONS = List.of("a", "b");
  private static final List<String> PARTS = List.of("in", "mid", "leaf");

  private final LifecycleSimulation on;
  private final SplittableRandom random;
  private final Set<String> suspects = new HashSet<>(); // replicas
  private final List<LifecycleFault> kinds = new ArrayList<>();
  private final List<LifecycleFault> ofNodes = new ArrayList<>();

  LifecycleFaults(LifecycleSimulation on) {
    this.on = on;
    this.random = on.world.randomness();
    for (LifecycleFault each : LifecycleFault.values()) {
      (each.isOfNodes() ? ofNodes : kinds).add(each);
    }
  }

  void begin() {
    APPLICATIONS.forEach(application -> on.commands.declare(fresh(application)));
    next();
    if (!on.alone) {
      nextOfNodes();
    }
  }

  private void nextOfNodes() {
    on.world.after(
        LifecycleSimulation.millis(random.nextInt(40_000)),
        "fault",
        () -> {
          if (on.isRough()) {
            happen(ofNodes.get(random.nextInt(ofNodes.size())));
            nextOfNodes();
          }
        });
  }

  private void next() {
    // Often enough that changes overlap, at times long enough that some of them come to their end.
    long pause =
        random.nextInt(6) == 0
            ? TimeUnit.SECONDS.toNanos(10 + random.nextInt(60))
            : LifecycleSimulation.millis(random.nextInt(6_000));
    on.world.after(
        pause,
        "fault",
        () -> {
          if (on.isRough()) {
            happen(kinds.get(random.nextInt(kinds.size())));
            next();
          }
        });
  }

  // --- versions ---

  private String code(String fault) {
    return "c" + ++on.versions + fault;
  }

  private String live(String fault) {
    return "l" + ++on.versions + fault;
  }

  private String build() {
    return "b" + ++on.versions;
  }

  private Settings rollout() {
    double[] shares = {0.2, 0.5, 1};
    double[] surges = {0, 20, 20, 50, 100};
    Settings rollout =
        Rollouts.of(
            shares[random.nextInt(shares.length)],
            surges[random.nextInt(surges.length)],
            random.nextBoolean() ? 20 : 3);
    boolean isBounded = !on.alone && random.nextInt(3) == 0; // all instances have room for all
    return isBounded
        ? rollout.with(DeploymentConfig.MAX_REPLICAS_PER_NODE, 2 + random.nextInt(3))
        : rollout;
  }

  private Part part(String name) {
    return new Part(
        name,
        code(""),
        live(""),
        1 + random.nextInt(4),
        rollout(),
        random.nextInt(20),
        random.nextInt(3) == 0 ? 3 : 10);
  }

  private LifecycleCode fresh(String application) {
    List<Part> parts = new ArrayList<>();
    for (int i = 0; i <= random.nextInt(PARTS.size()); i++) {
      parts.add(part(PARTS.get(i)));
    }
    return new LifecycleCode(application, "/" + application, build(), parts);
  }

  // --- faults ---

  private void happen(LifecycleFault fault) {
    String application = APPLICATIONS.get(random.nextInt(APPLICATIONS.size()));
    LifecycleCode code = on.commands.store().get(application);
    on.commands.by(fault);
    boolean done =
        switch (fault) {
          case DECLARE_AGAIN -> code == null && declare(fresh(application));
          case ROLLBACK -> rollback(application);
          case CAPACITY -> capacity();
          case CRASH -> crash(1);
          case ALL_CRASH -> random.nextInt(4) == 0 && crash(100);
          case UNHEALTHY -> health(false);
          case HEALTHY_AGAIN -> health(true);
          case SUSPECT -> suspect(true);
          case ANSWERS_AGAIN -> suspect(false);
          case BUSY -> busy();
          case CONTROLLER_RESTART -> controllerRestarts();
          case PROCESS_KILLED -> processDies(false);
          case POWER_CUT -> processDies(true);
          case DISK_FAILS -> diskFails();
          case NODE_BLOCKED -> blocked();
          case NODE_DIES -> on.nodes.isLost(true);
          case NODE_CUT_OFF -> on.nodes.isLost(false);
          case NODE_LEAVES -> on.nodes.leaves();
          case NODE_CORDONED -> on.nodes.isCordoned();
          case NODE_LINKED_ANEW -> on.nodes.isLinkedAnew();
          default -> code != null && change(fault, code);
        };
    if (done && !fault.isCommand()) { // a command counts when it changed something
      on.count(fault);
    }
  }

  private boolean declare(LifecycleCode code) {
    on.commands.declare(code);
    return true;
  }

  private boolean change(LifecycleFault fault, LifecycleCode code) {
    int index = random.nextInt(code.parts().size());
    Part part = code.parts().get(index);
    String sameBuild = code.isBuildable() ? code.build() : build();
    boolean heeds = random.nextBoolean();
    switch (fault) {
      case DELETE -> on.commands.withdraw(code.application());
      case SCALE -> {
        DeploymentId id = code.id(part);
        on.commands.scale(id, random.nextInt(8) == 0 ? 0 : 1 + random.nextInt(6));
      }
      case BAD_BUILD -> on.commands.declare(code.with(build() + "!", code.parts()));
      case DEPLOY_CODE -> changed(code, index, part.withCode(code("")), build());
      case NEVER_STARTS -> changed(code, index, part.withCode(code("!")), build());
      case HANGS_IN_START -> changed(code, index, part.withCode(code(heeds ? "?" : "%")), build());
      case HANGS_IN_RECONFIGURE ->
          changed(code, index, part.withLive(live(heeds ? "?" : "%")), sameBuild);
      case OFTEN_FAILS_TO_START -> changed(code, index, part.withCode(code("~")), build());
      case SICKENS -> changed(code, index, part.withCode(code("+")), build());
      case DEPLOY_LIVE -> changed(code, index, part.withLive(live("")), sameBuild);
      case NEVER_TAKES_IT -> changed(code, index, part.withLive(live("!")), sameBuild);
      case DEPLOY_REPLICAS ->
          changed(code, index, part.withReplicas(1 + random.nextInt(6)), sameBuild);
      case DEPLOY_ROLLOUT -> changed(code, index, part.withRollout(rollout()), sameBuild);
      case DEPLOY_ROUTE ->
          on.commands.declare(
              new LifecycleCode(
                  code.application(),
                  random.nextInt(4) == 0 ? null : "/" + ++on.versions,
                  sameBuild,
                  code.parts()));
      case DEPLOY_FEWER_OR_MORE_PARTS -> {
        List<Part> parts = new ArrayList<>(code.parts());
        if (parts.size() > 1 && random.nextBoolean()) {
          parts.remove(parts.size() - 1);
        } else if (parts.size() < PARTS.size()) {
          parts.add(part(PARTS.get(parts.size())));
        } else {
          return false;
        }
        on.commands.declare(code.with(build(), parts));
      }
      default -> throw new IllegalArgumentException("fault: " + fault + " (expected: a change)");
    }
    return true;
  }

  private void changed(LifecycleCode code, int index, Part next, String build) {
    on.commands.declare(code.with(index, next, build));
  }

  private boolean rollback(String application) {
    if (!on.commands.store().containsKey(application)) {
      return false;
    }
    on.commands.rollback(application);
    return true;
  }

  private boolean capacity() {
    Double[] shares = {null, 50.0, 20.0, 100.0};
    if (on.commands.store().isEmpty()) {
      return false;
    }
    on.commands.declareAll(shares[random.nextInt(shares.length)]);
    return true;
  }

  // --- replicas, instances, controllers, processes ---

  private @Nullable Instance instance() {
    List<Instance> all = on.instances();
    return all.isEmpty() ? null : all.get(random.nextInt(all.size()));
  }

  private boolean crash(int most) {
    Instance instance = instance();
    if (instance == null) {
      return false;
    }
    List<Found> here = new ArrayList<>(instance.hosted());
    boolean any = false;
    for (int i = 0; i < most && !here.isEmpty(); i++) {
      Found victim = here.remove(random.nextInt(here.size()));
      on.world.note("crash", victim.info().replicaId());
      any |= instance.kill(victim);
    }
    return any;
  }

  private @Nullable Replica running(Predicate<Replica> which) {
    Instance instance = instance();
    List<Replica> all =
        instance == null ? List.of() : instance.running().stream().filter(which).toList();
    return all.isEmpty() ? null : all.get(random.nextInt(all.size()));
  }

  private boolean health(boolean healthy) {
    Replica replica = running(each -> each.healthy() != healthy);
    Handler handler = replica == null ? null : on.hooks.handlers.get(replica.replicaId());
    if (handler == null || handler.sick != healthy) {
      return false; // it is so already
    }
    handler.sick = !healthy;
    return true;
  }

  /** Failures come in runs: a suspect is named again, until it answers. */
  private boolean suspect(boolean suspect) {
    Instance instance = instance();
    Replica replica = running(Replica::healthy);
    if (instance == null || replica == null) {
      return false;
    }
    boolean known = suspects.contains(replica.replicaId());
    if (!suspect && !known) {
      return false;
    }
    if (suspect) {
      suspects.add(replica.replicaId());
    } else {
      suspects.remove(replica.replicaId());
    }
    instance.suspected(replica, suspect);
    return !suspect || !known;
  }

  /** Requests hold its slots for a while, at times for longer than a grace. */
  private boolean busy() {
    Replica replica = running(each -> true);
    if (replica == null) {
      return false;
    }
    int taken = 0;
    while (taken < 3 && replica.slots().tryAcquire()) {
      taken++;
      on.world.after(
          LifecycleSimulation.millis(random.nextInt(40_000)), "settles", replica.slots()::complete);
    }
    return taken > 0;
  }

  private boolean controllerRestarts() {
    if (on.controller == null || random.nextInt(2) == 0) {
      return false;
    }
    on.controllerDies();
    return true;
  }

  private boolean processDies(boolean powerCut) {
    if (on.process == null || random.nextInt(3) != 0) {
      return false;
    }
    on.processDies(powerCut);
    return true;
  }

  private boolean diskFails() {
    int before = on.disk.failed();
    on.disk.fails(true);
    on.world.after(
        LifecycleSimulation.millis(random.nextInt(15_000)),
        "disk",
        () -> {
          on.disk.fails(false);
          if (on.disk.failed() > before) {
            on.count(LifecycleFault.DISK_FAILS);
          }
        });
    return false; // until something was written meanwhile
  }

  private boolean blocked() {
    long nanos = LifecycleSimulation.millis(random.nextInt(20_000));
    if (on.alone) {
      on.stall(nanos);
    } else {
      List<Link> links = List.copyOf(on.links.values());
      links.get(random.nextInt(links.size())).blockedUntilNanos = on.world.elapsedNanos() + nanos;
    }
    return true;
  }

  // --- the end ---

  /** What was declared last is good, or fails without delay; and no instance is blocked. */
  void end() {
    on.commands.by(null);
    on.disk.fails(false);
    on.processStarts();
    for (LifecycleCode code : on.commands.store().values()) {
      boolean unsteady = !code.isBuildable() || !code.parts().stream().allMatch(Part::comesToAnEnd);
      if (unsteady || random.nextBoolean()) {
        List<Part> good =
            code.parts().stream().map(part -> part.withCode(code("")).withLive(live(""))).toList();
        on.commands.declare(code.with(build(), good));
      }
    }
    on.links.values().forEach(link -> link.blockedUntilNanos = 0);
    on.nodes.end();
  }
}
