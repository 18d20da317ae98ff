package dev.berth.simulation;

import dev.berth.controller.Controller;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.fakes.Rollouts;
import dev.berth.node.SimulatedProcess;
import dev.berth.node.SimulatedProcess.Instance;
import dev.berth.simulation.LifecycleCode.Part;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * More lives of the objects of a lifecycle, which do the same: each application is deleted,
 * declared and changed, replicas crash, workers register again, another controller follows. Nothing
 * holds more after each of them than after the one before.
 */
final class LifecycleSecondLife {
  /**
   * Revisions, places in files, the last 16 384 replicas that ended, 1 000 deleted applications.
   */
  private static final Set<String> GROWS =
      Set.of(
          "controller.DeclaredApplication.rollbackRevision",
          "controller.DeploymentStates.counter",
          "controller.DeploymentState.dead",
          "controller.DeploymentStates.ended",
          "controller.NodePool.replicas",
          "controller.ReplicaRecord.ongoing",
          "controller.RoutingPublisher$Subscriber.digest",
          "desired.DesiredState.applied",
          "desired.StateStore.end",
          "desired.StateStore.sequence",
          "desired.StateStore.told",
          "desired.StateStoreTestFiles.operations",
          "node.InstanceReplicas.ended",
          "node.InstanceReplicas.nextLoop",
          "replica.HealthCheckWheel.looks");

  /** Where replicas are placed differs from life to life; a leak grows in each. */
  private static final int FURTHER_LIVES = 3;

  private final LifecycleSimulation on;

  LifecycleSecondLife(LifecycleSimulation on) {
    this.on = on;
  }

  void run() {
    Set<String> grows = new HashSet<>(Footprint.GROWS);
    grows.addAll(GROWS);
    live();
    Footprint before = measured();
    Map<String, String> always = null; // what has grown in each life
    for (int more = 0; more < FURTHER_LIVES; more++) {
      live();
      Footprint now = measured();
      Map<String, String> grown = now.grownSince(before, grows);
      if (always != null) {
        grown.keySet().retainAll(always.keySet());
      }
      always = grown;
      before = now;
    }
    String leaks = String.valueOf(always);
    on.world.failIf(!always.isEmpty(), () -> "holds more after each life: " + leaks);
  }

  private Footprint measured() {
    SimulatedProcess process = Objects.requireNonNull(on.process);
    Controller controller = Objects.requireNonNull(on.controller);
    return Footprint.of(process, controller);
  }

  private void live() {
    for (Instance each : on.instances()) {
      List<Found> hosted = each.hosted();
      if (!hosted.isEmpty()) {
        each.kill(hosted.get(0));
      }
    }
    List<LifecycleCode> declared = List.copyOf(on.commands.store().values());
    LifecycleCode passing = application("p" + ++on.versions);
    on.commands.declare(passing);
    passes(3);
    on.commands.withdraw(passing.application());
    declared.forEach(each -> on.commands.withdraw(each.application()));
    passes(3);
    for (LifecycleCode each : declared) {
      on.commands.declare(each.with("b" + ++on.versions, good(each)));
    }
    passes(3);
    on.controllerDies();
    passes(2);
    if (!on.alone) {
      List<String> workers = on.nodes.names().stream().filter(each -> !each.equals("n1")).toList();
      on.onControl(() -> on.nodes.loses(workers.get(0), false));
      passes(3);
      on.onControl(() -> on.nodes.leaves(workers.get(1)));
      passes(4);
    }
    declared.forEach(each -> on.commands.declare(each.with("b" + ++on.versions, good(each))));
    passes(1);
    LifecycleEnd end = new LifecycleEnd(on);
    passes(15);
    end.check();
  }

  /** An application of which one deployment runs and another never starts. */
  private LifecycleCode application(String name) {
    Part runs = new Part("in", "c" + on.versions, "l1", 1, Rollouts.of(1, 20, 3), 1, 10);
    Part fails = new Part("mid", "c" + on.versions + "!", "l1", 1, Rollouts.of(1, 20, 3), 1, 10);
    return new LifecycleCode(name, "/" + name, "b" + on.versions, List.of(runs, fails));
  }

  private List<Part> good(LifecycleCode of) {
    List<Part> good = new ArrayList<>();
    for (Part each : of.parts()) {
      good.add(each.withCode("c" + ++on.versions).withLive("l" + on.versions));
    }
    return good;
  }

  private void passes(int minutes) {
    on.world.runTo(on.world.elapsedNanos() + TimeUnit.MINUTES.toNanos(minutes), () -> {});
  }
}
