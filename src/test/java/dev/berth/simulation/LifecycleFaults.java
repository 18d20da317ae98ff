package dev.berth.simulation;

import dev.berth.api.DeploymentId;
import dev.berth.config.Rollout;
import dev.berth.protocol.ReplicaPhase;
import dev.berth.simulation.LifecycleCode.Part;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Whoever changes what is declared, and whatever goes wrong. Seeded. */
final class LifecycleFaults {
  private static final List<String> APPLICATIONS = List.of("a", "b");
  private static final List<String> PARTS = List.of("in", "mid", "leaf");

  private final LifecycleSimulation on;
  private final SplittableRandom random;
  private final List<LifecycleFault> kinds = List.of(LifecycleFault.values());

  LifecycleFaults(LifecycleSimulation on) {
    this.on = on;
    this.random = on.world.randomness();
  }

  void begin() {
    APPLICATIONS.forEach(application -> on.declare(fresh(application)));
    next();
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

  private Rollout rollout() {
    double[] shares = {0.2, 0.5, 1};
    double[] surges = {0, 20, 20, 50, 100};
    return new Rollout(
        shares[random.nextInt(shares.length)],
        surges[random.nextInt(surges.length)],
        random.nextBoolean() ? 20 : 3,
        null,
        null);
  }

  private Part part(String name) {
    return new Part(name, code(""), live(""), 1 + random.nextInt(4), rollout(), random.nextInt(20));
  }

  private LifecycleCode fresh(String application) {
    List<Part> parts = new ArrayList<>();
    for (int i = 0; i <= random.nextInt(PARTS.size()); i++) {
      parts.add(part(PARTS.get(i)));
    }
    return new LifecycleCode(application, ++on.revision, "/" + application, build(), parts);
  }

  // --- faults ---

  private void happen(LifecycleFault fault) {
    String application = APPLICATIONS.get(random.nextInt(APPLICATIONS.size()));
    LifecycleCode code = on.store.get(application);
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
          case CONTROLLER_RESTART -> controllerRestarts();
          case NODE_BLOCKED -> blocked();
          default -> code != null && change(fault, code);
        };
    if (done) {
      on.count(fault);
    }
  }

  private boolean declare(LifecycleCode code) {
    on.declare(code);
    return true;
  }

  private boolean change(LifecycleFault fault, LifecycleCode code) {
    int index = random.nextInt(code.parts().size());
    Part part = code.parts().get(index);
    String sameBuild = code.build() == null ? build() : code.build();
    switch (fault) {
      case DELETE -> on.withdraw(code.application());
      case SCALE -> {
        DeploymentId id = code.id(part);
        on.scale(id, random.nextInt(8) == 0 ? 0 : 1 + random.nextInt(6));
      }
      case BAD_BUILD -> on.declare(code.with(++on.revision, null, code.parts()));
      case DEPLOY_CODE -> changed(code, index, part.withCode(code("")), build());
      case NEVER_STARTS -> changed(code, index, part.withCode(code("!")), build());
      case OFTEN_FAILS_TO_START -> changed(code, index, part.withCode(code("~")), build());
      case SICKENS -> changed(code, index, part.withCode(code("+")), build());
      case DEPLOY_LIVE -> changed(code, index, part.withLive(live("")), sameBuild);
      case NEVER_TAKES_IT -> changed(code, index, part.withLive(live("!")), sameBuild);
      case DEPLOY_REPLICAS ->
          changed(code, index, part.withReplicas(1 + random.nextInt(6)), sameBuild);
      case DEPLOY_ROLLOUT ->
          changed(
              code,
              index,
              new Part(part.name(), part.code(), part.live(), part.replicas(), rollout(), 1),
              sameBuild);
      case DEPLOY_ROUTE ->
          on.declare(
              new LifecycleCode(
                  code.application(),
                  ++on.revision,
                  random.nextInt(4) == 0 ? null : "/" + on.revision,
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
        on.declare(code.with(++on.revision, build(), parts));
      }
      default -> throw new IllegalArgumentException("fault: " + fault + " (expected: a change)");
    }
    return true;
  }

  private void changed(LifecycleCode code, int index, Part next, String build) {
    on.declare(code.with(index, next, ++on.revision, build));
  }

  private boolean rollback(String application) {
    LifecycleCode before = on.previous.get(application);
    if (before == null || !on.store.containsKey(application)) {
      return false;
    }
    on.declare(before.with(++on.revision, before.build(), before.parts()));
    return true;
  }

  private boolean capacity() {
    Double[] shares = {null, 50.0, 20.0, 100.0};
    on.capacity = shares[random.nextInt(shares.length)];
    List.copyOf(on.store.values()).forEach(on::declareAgain);
    return true;
  }

  // --- replicas, instances, controllers ---

  private @Nullable LifecycleNode node(ReplicaPhase phase) {
    LifecycleNode node = on.nodes.get(random.nextInt(on.nodes.size()));
    return node.hosted.values().stream().anyMatch(each -> each.phase == phase) ? node : null;
  }

  private static List<LifecycleNode.Hosted> at(LifecycleNode node, @Nullable ReplicaPhase phase) {
    return node.hosted.values().stream()
        .filter(each -> phase == null || each.phase == phase)
        .toList();
  }

  private boolean crash(int most) {
    LifecycleNode node = on.nodes.get(random.nextInt(on.nodes.size()));
    List<LifecycleNode.Hosted> here = new ArrayList<>(at(node, null));
    for (int i = 0; i < most && !here.isEmpty(); i++) {
      LifecycleNode.Hosted victim = here.remove(random.nextInt(here.size()));
      on.world.note("crash", victim.id);
      node.crash(victim);
    }
    return true;
  }

  private boolean health(boolean healthy) {
    LifecycleNode node = node(ReplicaPhase.RUNNING);
    if (node == null) {
      return false;
    }
    List<LifecycleNode.Hosted> here =
        at(node, ReplicaPhase.RUNNING).stream().filter(each -> each.healthy != healthy).toList();
    if (here.isEmpty()) {
      return false;
    }
    node.health(here.get(random.nextInt(here.size())), healthy);
    return true;
  }

  private boolean suspect(boolean suspect) {
    LifecycleNode node = node(ReplicaPhase.RUNNING);
    if (node == null) {
      return false;
    }
    List<LifecycleNode.Hosted> here =
        at(node, ReplicaPhase.RUNNING).stream().filter(each -> suspect || each.suspect).toList();
    if (here.isEmpty()) {
      return false;
    }
    node.suspect(here.get(random.nextInt(here.size())), suspect);
    return true;
  }

  private boolean controllerRestarts() {
    if (on.controller == null || random.nextInt(2) == 0) {
      return false;
    }
    on.controllerDies();
    return true;
  }

  private boolean blocked() {
    LifecycleNode node = on.nodes.get(random.nextInt(on.nodes.size()));
    node.blockedUntilNanos =
        on.world.elapsedNanos() + LifecycleSimulation.millis(random.nextInt(20_000));
    return true;
  }

  // --- the end ---

  /** What was declared last is good, or never starts; and nobody is a suspect any more. */
  void end() {
    for (LifecycleCode code : List.copyOf(on.store.values())) {
      boolean unsteady =
          code.build() == null
              || code.parts().stream().anyMatch(part -> !part.isGood() && !part.neverStarts());
      if (unsteady || random.nextBoolean()) {
        List<Part> good =
            code.parts().stream().map(part -> part.withCode(code("")).withLive(live(""))).toList();
        on.declare(code.with(++on.revision, build(), good));
      }
    }
    for (LifecycleNode node : on.nodes) {
      node.blockedUntilNanos = 0;
    }
  }
}
