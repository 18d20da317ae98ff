package dev.berth.simulation;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.controller.Controller;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.DeploymentTarget;
import dev.berth.node.SimulatedProcess.Instance;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.replica.Replica;
import dev.berth.simulation.LifecycleCode.Part;
import dev.berth.view.ApplicationDetails;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.DeploymentDetails;
import dev.berth.view.DeploymentStatus;
import dev.berth.view.ReplicaDetails;
import dev.berth.view.ReplicaPhase;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** What must be true when it has been calm for long enough. Made when the calm begins. */
final class LifecycleEnd {
  private final LifecycleSimulation on;
  private final Map<DeploymentId, Integer> servedBefore = new LinkedHashMap<>();

  LifecycleEnd(LifecycleSimulation on) {
    this.on = on;
    for (LifecycleCode code : on.commands.store().values()) {
      for (Part part : code.parts()) {
        servedBefore.put(code.id(part), steadilyServing(code.id(part), part));
      }
    }
  }

  /** Of another version than the wanted one, which does not become unhealthy by itself. */
  private int steadilyServing(DeploymentId id, Part part) {
    int serving = 0;
    List<Instance> all = on.instances();
    DeploymentTarget complete = all.isEmpty() ? null : all.get(0).complete(id);
    if (complete != null && !Part.codeOf(complete).matches("c\\d+")) {
      return 0; // what makes up for a version that failed may ail itself
    }
    for (Instance instance : on.instances()) {
      for (Found here : instance.hosted()) {
        boolean steady = Part.codeOf(here.target()).matches("c\\d+");
        if (here.target().id().equals(id)
            && !on.watch.goesWithItsApplication(here.info().replicaId())
            && here.phase() == ReplicaPhase.RUNNING
            && here.healthy()
            && steady
            && !part.is(here.target())) {
          serving++;
        }
      }
    }
    return serving;
  }

  private RuntimeException broken(String claim) {
    throw on.world.fail("at the end: " + claim);
  }

  void check() {
    Controller controller = on.controller;
    if (controller == null) {
      throw broken("no controller");
    }
    Set<String> owned = new TreeSet<>();
    Map<String, LifecycleCode> store = on.commands.store();
    if (!controller.applications().keySet().equals(store.keySet())) {
      throw broken(
          "applications: " + controller.applications() + " (expected: " + store.keySet() + ")");
    }
    boolean allWell = true;
    for (LifecycleCode declared : store.values()) {
      ApplicationDetails details = controller.details(declared.application());
      if (details == null) {
        throw broken("details: none (expected: as " + declared + ")");
      }
      boolean instead = details.message().matches(".*; revision \\d+ serves(;.*)?");
      LifecycleCode code = instead ? on.commands.serving(declared.application()) : declared;
      boolean good = code.parts().stream().allMatch(part -> isWell(code, part));
      // What ran before a version that failed may still call deployments that are no more declared.
      if (good && details.deployments().size() != code.parts().size()) {
        throw broken("details: " + details + " (expected: as " + code + ")");
      }
      details.deployments().stream()
          .flatMap(each -> each.replicas().stream())
          .forEach(replica -> owned.add(replica.replicaId()));
      allWell &= good && (!instead || code.parts().stream().allMatch(Part::isGood));
      ApplicationStatus expected =
          good && !instead ? ApplicationStatus.RUNNING : ApplicationStatus.DEPLOY_FAILED;
      if (details.status() != expected) {
        throw broken("status: " + details + " (expected: " + expected + ")");
      }
      for (Part part : code.parts()) {
        if (instead && !part.isGood()) {
          continue; // it ran once, and may do anything now
        }
        details.deployments().stream()
            .filter(each -> each.name().equals(part.name()))
            .findFirst()
            .ifPresentOrElse(
                each -> deployment(code, part, each),
                () -> {
                  throw broken("details: " + details + " (expected: with " + part + ")");
                });
      }
      if (!code.id(code.parts().get(0)).equals(on.routes.get(code.application())) && good) {
        throw broken("route: " + on.routes + " (expected: of " + code + ")");
      }
    }
    owners(owned);
    nothingIsLeft(store, allWell);
    if (allWell && controller.nextWakeNanos() != Long.MAX_VALUE) {
      throw broken("the controller wakes again (expected: at rest)");
    }
  }

  private int wanted(LifecycleCode code, Part part) {
    Integer scaled = on.commands.scaled(code.id(part));
    return scaled == null ? LifecycleCode.atCapacity(part, on.commands.capacity()) : scaled;
  }

  /** Nothing shows that a version does not start where none of it is wanted. */
  private boolean isWell(LifecycleCode code, Part part) {
    return part.isGood() || wanted(code, part) == 0;
  }

  private void deployment(LifecycleCode code, Part part, DeploymentDetails details) {
    int wanted = wanted(code, part);
    DeploymentId id = code.id(part);
    List<String> routable = new ArrayList<>();
    for (ReplicaDetails replica : details.replicas()) {
      Found here = on.hosted(replica.replicaId());
      if (here == null || here.phase() != replica.phase()) {
        throw broken("the controller takes " + here + " for " + replica);
      }
      if (replica.routable()) {
        routable.add(replica.replicaId());
      }
    }
    RoutingSnapshot routed = on.routed(id);
    if (routed == null
        || !Set.copyOf(LifecycleWatch.routable(routed)).equals(Set.copyOf(routable))) {
      throw broken(id + ": routers hold " + routed + " (expected: " + routable + ")");
    }
    if (!isWell(code, part)) {
      failed(id, details, routable, wanted);
      return;
    }
    if (part.isGood() && details.status() != DeploymentStatus.HEALTHY) {
      throw broken("status: " + details + " (expected: HEALTHY)");
    }
    Map<String, Integer> placed = new LinkedHashMap<>();
    details.replicas().forEach(each -> placed.merge(each.node(), 1, Integer::sum));
    Integer most = part.rollout().find(DeploymentConfig.MAX_REPLICAS_PER_NODE);
    if (!on.alone && !on.nodes.names().containsAll(placed.keySet())) {
      throw broken(id + ": " + placed + " (expected: on some of " + on.nodes.names() + ")");
    }
    if (most != null
        && placed.entrySet().stream()
            .anyMatch(at -> at.getValue() > Math.max(most, on.watch.before(id, at.getKey())))) {
      throw broken(id + ": " + placed + " (expected: at most " + most + " on each)");
    }
    if (details.replicas().size() != wanted || routable.size() != wanted) {
      throw broken(id + ": " + details + " (expected: " + wanted + " replicas, all routable)");
    }
    for (ReplicaDetails replica : details.replicas()) {
      Found here = on.hosted(replica.replicaId());
      if (here == null || here.phase() != ReplicaPhase.RUNNING || !part.is(here.target())) {
        throw broken(
            "%s: %s (expected: running %s)"
                .formatted(
                    replica.replicaId(), (here == null ? "not there" : here.toString()), part));
      }
    }
  }

  private void failed(
      DeploymentId id, DeploymentDetails details, List<String> routable, int wanted) {
    if (details.status() != DeploymentStatus.DEPLOY_FAILED) {
      throw broken("status: " + details + " (expected: DEPLOY_FAILED)");
    }
    if (servedBefore.getOrDefault(id, 0) > 0 && routable.size() != wanted) {
      throw broken(id + ": " + details + " (expected: " + wanted + " of what ran before serve on)");
    }
  }

  /** Of what is not declared, and of hooks. */
  private void nothingIsLeft(Map<String, LifecycleCode> store, boolean allWell) {
    if (allWell && on.busyThreads() > 0) {
      throw broken("threads that run hooks: " + on.busyThreads() + " (expected: none)");
    }
    List<Instance> all = on.instances();
    for (String build : all.get(0).builds()) {
      if (!store.containsKey(build.substring(0, build.indexOf('/')))) {
        throw broken("code is held: " + build + " (expected: none of what is not declared)");
      }
      boolean discarded = !on.watch.loaded.contains(build.substring(build.indexOf('/') + 1));
      if (allWell && !discarded && !used(store).contains(build)) {
        throw broken(
            "code is held: " + build + " (expected: discarded, used: " + used(store) + ")");
      }
    }
    for (Instance each : all.subList(1, all.size())) {
      requireThatItHoldsWhatItRuns(each, allWell);
    }
    for (Instance instance : on.instances()) {
      for (Replica replica : instance.running()) {
        if (replica.slots().ongoing() > 0 || on.hosted(replica.replicaId()) == null) {
          throw broken(instance.node() + ": " + replica + " is left");
        }
      }
    }
  }

  /** What was built elsewhere goes with the last replica that runs it. */
  private void requireThatItHoldsWhatItRuns(Instance follower, boolean allWell) {
    Map<String, Integer> held = new LinkedHashMap<>();
    for (String build : follower.builds()) {
      held.merge(build.substring(0, build.indexOf('/')), 1, Integer::sum);
    }
    for (Found found : follower.hosted()) {
      held.merge(found.target().id().application(), -1, Integer::sum);
    }
    if (allWell && held.values().stream().anyMatch(more -> more > 0)) {
      throw broken(
          "%s: code is held: %s (expected: of what runs: %s)"
              .formatted(follower.node(), follower.builds(), follower.hosted()));
    }
  }

  /** Code of what is wanted, of what runs, and of what ran last where none is wanted. */
  private Set<String> used(Map<String, LifecycleCode> store) {
    Set<DeploymentTarget> targets = new HashSet<>();
    for (Instance instance : on.instances()) {
      instance.hosted().forEach(found -> targets.add(found.target()));
    }
    for (LifecycleCode code : store.values()) {
      for (Part part : code.parts()) {
        targets.add(on.watch.target(code.id(part)));
        targets.add(on.instances().get(0).complete(code.id(part)));
      }
    }
    return targets.stream()
        .filter(Objects::nonNull)
        .map(each -> each.id().application() + "/" + each.build())
        .collect(Collectors.toSet());
  }

  private void owners(Set<String> owned) {
    Set<String> there = new TreeSet<>();
    for (Instance instance : on.instances()) {
      instance.hosted().forEach(found -> there.add(found.info().replicaId()));
      if (instance.size() != instance.hosted().size()) {
        throw broken(instance.node() + ": hosts what was told to stop before it ran");
      }
    }
    if (!there.equals(owned)) {
      throw broken("replicas there: " + there + " (expected: " + owned + ", which have an owner)");
    }
  }
}
