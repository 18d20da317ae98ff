package dev.berth.controller;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerAction.Remember;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.controller.ControllerAction.Unroute;
import dev.berth.controller.ControllerEvent.Inventory.Found;
import dev.berth.controller.ControllerEvent.OfReplica;
import dev.berth.view.ApplicationStatus;
import dev.berth.view.ReplicaPhase;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The declared applications with their builds, routes, states and deployments. Confined to the
 * controller's loop.
 */
final class ApplicationStates {
  private final Epoch epoch;
  private final DeploymentStates deployments;
  private final ControllerRecovery recovery;
  private final BiConsumer<OfReplica, ReconcilePass> observe;
  private final Consumer<DeploymentId> gone;
  private final Map<String, ApplicationState> applications = new LinkedHashMap<>();

  /**
   * @param observe handles an event of a known replica
   * @param gone called with each removed deployment
   */
  ApplicationStates(
      Epoch epoch,
      DeploymentStates deployments,
      ControllerRecovery recovery,
      BiConsumer<OfReplica, ReconcilePass> observe,
      Consumer<DeploymentId> gone) {
    this.epoch = epoch;
    this.deployments = deployments;
    this.recovery = recovery;
    this.observe = observe;
    this.gone = gone;
  }

  Collection<ApplicationState> all() {
    return applications.values();
  }

  @Nullable ApplicationState get(String name) {
    return applications.get(name);
  }

  /** Returns a copy of the builds that the controller knows, by application. */
  Map<String, Set<String>> builds() {
    Map<String, Set<String>> all = recovery.builds();
    applications.forEach(
        (name, each) -> all.computeIfAbsent(name, none -> new HashSet<>()).addAll(each.builds));
    return all;
  }

  // --- desired state ---

  void declare(DeclaredApplication declared, ReconcilePass turn) {
    ApplicationState application = applications.get(declared.name());
    if (application == null) {
      application = new ApplicationState(declared);
      application.building = true;
      applications.put(application.name, application);
    } else if (!application.withdrawn && declared.revision() < application.declared.revision()) {
      return; // older than the current revision
    } else if (application.withdrawn
        || application.declared.revision() != declared.revision()
        || application.state().status() == ApplicationStatus.DEPLOY_FAILED) {
      application.building = true; // a failed application is retried
    }
    application.withdrawn = false;
    application.declared = declared;
    application.scales.clear();
    application.scales.putAll(declared.scales());
    build(application, turn);
    turn.touch(application);
    adopt(application, turn);
  }

  private void build(ApplicationState application, ReconcilePass turn) {
    application.discarded.clear();
    turn.add(new Build(epoch, application.name, application.declared.revision()));
  }

  void withdraw(String name, ReconcilePass turn) {
    ApplicationState application = applications.get(name);
    if (application != null && !application.withdrawn) {
      withdraw(application, turn);
    }
  }

  private void withdraw(ApplicationState application, ReconcilePass turn) {
    application.withdrawn = true;
    application.autoscaled.clear();
    application.building = false;
    application.route = null;
    turn.add(new Unroute(epoch, application.name)); // before any replica drains
    turn.touch(application);
  }

  void scale(ControllerEvent.Scaled event, ReconcilePass turn) {
    rescale(event.deployment(), its -> its.scales, event.replicas(), turn);
  }

  void pause(ControllerEvent.Paused event, ReconcilePass turn) {
    rescale(event.deployment(), its -> its.autoscaled, event.now(), turn);
  }

  private <T> void rescale(
      DeploymentId id, Function<ApplicationState, Map<String, T>> of, T value, ReconcilePass turn) {
    ApplicationState application = applications.get(id.application());
    if (application == null) {
      return;
    }
    of.apply(application).put(id.name(), value);
    DeploymentState deployment = application.deployments.get(id);
    if (deployment != null && !deployment.deleting && !deployment.obsolete) {
      deployments.retarget(deployment, application.scaled(deployment.target), false, turn);
    }
  }

  // --- builds ---

  void built(ControllerEvent.Built event, ReconcilePass turn) {
    ApplicationState application = applications.get(event.application());
    BuiltApplication built = event.built();
    if (application == null) {
      turn.add(new DiscardBuild(epoch, event.application(), built.build()));
      return;
    }
    boolean wanted = !application.withdrawn && application.declared.revision() == event.revision();
    if (wanted && application.discarded.contains(built.build())) {
      build(application, turn); // it was discarded as unused while this event was in flight
      return;
    }
    application.builds.add(built.build());
    turn.touch(application);
    if (!wanted) {
      return; // discarded with the other unused builds
    }
    boolean deployed = application.building || application.buildFailure != null;
    application.building = false;
    application.buildFailure = null;
    application.built = built;
    application.prefix = application.declared.servedPrefix();
    adopt(application, turn);
    Set<DeploymentId> kept = new HashSet<>();
    for (DeploymentTarget each : built.targets()) {
      DeploymentTarget target = application.scaled(each).of(application.declared.served());
      kept.add(target.id());
      DeploymentState deployment = application.deployments.get(target.id());
      if (deployment == null) {
        deployments.make(application, target, turn);
      } else if (deployment.held) {
        deployments.claim(deployment, target, turn);
      } else {
        deployments.retarget(deployment, target, deployed, turn);
      }
    }
    for (DeploymentState deployment : application.deployments.values()) {
      deployment.obsolete = !kept.contains(deployment.id);
      deployment.held = false;
    }
  }

  void buildFailed(ControllerEvent.BuildFailed event, ReconcilePass turn) {
    ApplicationState application = applications.get(event.application());
    if (application == null
        || application.withdrawn
        || application.declared.revision() != event.revision()) {
      return;
    }
    application.building = false;
    application.buildFailure = event.reason();
    turn.touch(application);
    keepFound(application, turn);
  }

  /**
   * Keeps the found replicas of an application that cannot be built, at their present number, once
   * every inventory has arrived.
   */
  private void keepFound(ApplicationState application, ReconcilePass turn) {
    if (application.buildFailure == null
        || application.building
        || application.withdrawn
        || recovery.isPending()) {
      return;
    }
    for (DeploymentState deployment : application.deployments.values()) {
      if (deployment.held) {
        int found = deployment.count(ReplicaRecord::isActive);
        DeploymentTarget most =
            found == 0 && deployment.kept != null
                ? deployment.kept
                : deployment.mostCommonTarget().withReplicas(found);
        deployments.claim(deployment, application.scaled(most), turn);
      }
    }
  }

  // --- replicas of an earlier controller ---

  void inventory(ControllerEvent.Inventory inventory, ReconcilePass turn) {
    if (!recovery.tell(inventory, turn.nowNanos)) {
      inventory.replicas().stream()
          .filter(each -> each.phase() != ReplicaPhase.DRAINING)
          // repeated inventory, claim still open
          .filter(each -> !recovery.holds(each.info().replicaId()))
          .forEach(each -> deployments.stranger(each.info(), turn));
      return;
    }
    for (String name : recovery.unclaimed()) {
      ApplicationState application = applications.get(name);
      if (application != null) {
        adopt(application, turn);
      }
    }
    touchAll(turn);
  }

  /**
   * Runs all postponed decisions unless recovery is still pending. Called when recovery may have
   * ended or the instances changed.
   */
  void touchAll(ReconcilePass turn) {
    if (!recovery.isPending()) {
      for (ApplicationState application : applications.values()) {
        keepFound(application, turn);
        application.deployments.values().forEach(turn::touch);
        turn.touch(application);
      }
    }
  }

  /** Stops the replicas of undeclared applications as those of a deleted application. */
  void stopUnclaimed(ReconcilePass turn) {
    for (String name : recovery.unclaimed()) {
      if (!applications.containsKey(name)) {
        ApplicationState application =
            new ApplicationState(DeclaredApplication.of(name, 0, null, "", 0));
        applications.put(name, application);
        adopt(application, turn);
        withdraw(application, turn);
      }
    }
  }

  private void adopt(ApplicationState application, ReconcilePass turn) {
    ControllerRecovery.UnclaimedApplication unclaimed = recovery.claim(application.name);
    application.builds.addAll(unclaimed.builds());
    for (DeploymentTarget complete : unclaimed.complete()) {
      if (application.built != null && !application.deployments.containsKey(complete.id())) {
        turn.add(new Remember(epoch, complete.id(), null)); // absent from the present code
      } else {
        deployments.recall(findOrCreate(application, complete, turn), complete, turn);
      }
    }
    for (Found found : unclaimed.replicas()) {
      DeploymentState deployment = findOrCreate(application, found.target(), turn);
      deployments.adopt(deployment, found, turn);
      recovery.since(found).forEach(event -> observe.accept(event, turn));
    }
  }

  private DeploymentState findOrCreate(
      ApplicationState application, DeploymentTarget target, ReconcilePass turn) {
    DeploymentState known = application.deployments.get(target.id());
    if (known != null) {
      return known;
    }
    DeploymentState deployment = deployments.make(application, application.scaled(target), turn);
    deployment.held = application.built == null;
    deployment.obsolete = application.built != null; // absent from the present code
    return deployment;
  }

  // --- consequences of deployment changes ---

  /**
   * Derives the next actions of an application. Called when the application or one of its
   * deployments has changed.
   */
  void settle(ApplicationState application, ReconcilePass turn) {
    if (recovery.isPending()) {
      return;
    }
    removeWhatIsGone(application, turn);
    if (application.withdrawn) {
      drain(application, turn);
    } else {
      route(application, turn);
      deleteObsolete(application, turn);
    }
    for (String build : application.unused()) {
      application.builds.remove(build);
      application.discarded.add(build);
      turn.add(new DiscardBuild(epoch, application.name, build));
    }
    Announce state = application.state();
    if (!state.equals(application.announced)) {
      application.announced = state;
      turn.add(state);
    }
    if (application.withdrawn && application.deployments.isEmpty()) {
      remove(application, turn);
    }
  }

  private void removeWhatIsGone(ApplicationState application, ReconcilePass turn) {
    for (DeploymentState deployment : List.copyOf(application.deployments.values())) {
      if (deployment.deleting && deployment.replicas.isEmpty()) {
        deployments.remove(deployment, turn);
        gone.accept(deployment.id);
      }
    }
  }

  /**
   * Drains the ingress first: requests that it has accepted may still call the other deployments.
   */
  private void drain(ApplicationState application, ReconcilePass turn) {
    DeploymentState ingress = application.ingress();
    if (ingress != null) {
      deployments.delete(ingress, turn);
    } else {
      application.deployments.values().forEach(deployment -> deployments.delete(deployment, turn));
    }
  }

  private void route(ApplicationState application, ReconcilePass turn) {
    BuiltApplication built = application.built;
    DeploymentState ingress = application.ingress();
    if (built == null || ingress == null) {
      return;
    }
    ApplicationState.CommandedRoute now = application.route;
    boolean ready =
        ingress.isRoutable() || ingress.target.settings().get(DeploymentConfig.NUM_REPLICAS) == 0;
    boolean changes = ready || now == null;
    ApplicationState.CommandedRoute next =
        new ApplicationState.CommandedRoute(
            application.prefix,
            changes ? ingress.id : now.ingress(),
            changes ? built.traffic() : now.traffic());
    if ((ready || now != null) && !Objects.equals(now, next)) {
      application.route = next;
      turn.add(new RouteTo(epoch, application.name, next.prefix(), next.ingress(), next.traffic()));
    }
  }

  /** Deletes obsolete deployments last: replicas of an earlier version may still call them. */
  private void deleteObsolete(ApplicationState application, ReconcilePass turn) {
    if (application.building || application.buildFailure != null) {
      return;
    }
    Collection<DeploymentState> all = application.deployments.values();
    boolean done = all.stream().allMatch(each -> each.obsolete || each.isRolledOut());
    all.stream()
        .filter(each -> each.obsolete)
        .filter(each -> done || each.count(replica -> replica.awaited) > 0)
        .forEach(each -> deployments.delete(each, turn));
  }

  private void remove(ApplicationState application, ReconcilePass turn) {
    applications.remove(application.name);
    application.builds.stream()
        .sorted()
        .forEach(build -> turn.add(new DiscardBuild(epoch, application.name, build)));
    turn.add(application.state(ApplicationStatus.NOT_STARTED, ""));
  }
}
