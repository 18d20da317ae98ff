package dev.berth.simulation;

import dev.berth.api.DeploymentId;
import dev.berth.controller.Controller;
import dev.berth.controller.DeploymentTarget;
import dev.berth.protocol.ApplicationDetails;
import dev.berth.protocol.ApplicationStatus;
import dev.berth.protocol.DeploymentDetails;
import dev.berth.protocol.DeploymentStatus;
import dev.berth.protocol.ReplicaDetails;
import dev.berth.protocol.ReplicaPhase;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.simulation.LifecycleCode.Part;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** What must be true when it has been calm for long enough. Made when the calm begins. */
final class LifecycleEnd {
  private final LifecycleSimulation on;
  private final Map<DeploymentId, Integer> servedBefore = new LinkedHashMap<>();

  LifecycleEnd(LifecycleSimulation on) {
    this.on = on;
    for (LifecycleCode code : on.store.values()) {
      for (Part part : code.parts()) {
        servedBefore.put(code.id(part), steadilyServing(code.id(part), part));
      }
    }
  }

  /** Of another version than the wanted one, which does not become unhealthy by itself. */
  private int steadilyServing(DeploymentId id, Part part) {
    int serving = 0;
    DeploymentTarget complete = on.complete.get(id);
    if (complete != null && !complete.version().code().matches("c\\d+")) {
      return 0; // what makes up for a version that failed may ail itself
    }
    for (LifecycleNode node : on.nodes) {
      for (LifecycleNode.Hosted here : node.hosted.values()) {
        boolean steady = here.target.version().code().matches("c\\d+");
        if (here.target.id().equals(id)
            && here.phase == ReplicaPhase.RUNNING
            && here.healthy
            && steady
            && here.next == null
            && !here.target.version().equals(part.version())) {
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
    if (!controller.applications().keySet().equals(on.store.keySet())) {
      throw broken(
          "applications: " + controller.applications() + " (expected: " + on.store.keySet() + ")");
    }
    boolean allWell = true;
    for (LifecycleCode code : on.store.values()) {
      ApplicationDetails details = controller.details(code.application());
      boolean good = code.parts().stream().allMatch(part -> isWell(code, part));
      // What ran before a version that failed may still call deployments that are no more declared.
      if (details == null || (good && details.deployments().size() != code.parts().size())) {
        throw broken("details: " + details + " (expected: as " + code + ")");
      }
      details.deployments().stream()
          .flatMap(each -> each.replicas().stream())
          .forEach(replica -> owned.add(replica.replicaId()));
      allWell &= good;
      ApplicationStatus expected =
          good ? ApplicationStatus.RUNNING : ApplicationStatus.DEPLOY_FAILED;
      if (details.status() != expected) {
        throw broken("status: " + details + " (expected: " + expected + ")");
      }
      for (Part part : code.parts()) {
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
    if (allWell && controller.nextWakeNanos() != Long.MAX_VALUE) {
      throw broken("the controller wakes again (expected: at rest)");
    }
  }

  private int wanted(LifecycleCode code, Part part) {
    Integer scaled = on.scales.get(code.id(part));
    if (scaled != null) {
      return scaled;
    }
    DeploymentTarget target = code.built(on.capacity).targets().get(code.parts().indexOf(part));
    return target.settings().numReplicas();
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
    if (details.replicas().size() != wanted || routable.size() != wanted) {
      throw broken(id + ": " + details + " (expected: " + wanted + " replicas, all routable)");
    }
    for (ReplicaDetails replica : details.replicas()) {
      LifecycleNode.Hosted here = on.nodeOf(replica.replicaId()).hosted.get(replica.replicaId());
      if (here == null
          || here.phase != ReplicaPhase.RUNNING
          || !here.target.version().equals(part.version())) {
        throw broken(
            replica.replicaId()
                + ": "
                + (here == null ? "not there" : here.phase + " " + here.target.version())
                + " (expected: running "
                + part.version()
                + ")");
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

  private void owners(Set<String> owned) {
    Set<String> there = new TreeSet<>();
    for (LifecycleNode node : on.nodes) {
      there.addAll(node.hosted.keySet());
    }
    if (!there.equals(owned)) {
      throw broken("replicas there: " + there + " (expected: " + owned + ", which have an owner)");
    }
  }
}
