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
import dev.berth.protocol.ApplicationStatus;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The applications that are declared: their code, their routes, their states, and which deployments
 * they have. Belongs to the controller's loop.
 */
final class Applications {
  private final Epoch epoch;
  private final Fleets fleets;
  private final Recovery recovery;
  private final BiConsumer<OfReplica, Turn> observe;
  private final Consumer<DeploymentId> gone;
  private final Map<String, App> apps = new LinkedHashMap<>();

  /**
   * @param observe takes what happened to a replica that is known by now
   * @param gone told of each deployment that is there no more
   */
  Applications(
      Epoch epoch,
      Fleets fleets,
      Recovery recovery,
      BiConsumer<OfReplica, Turn> observe,
      Consumer<DeploymentId> gone) {
    this.epoch = epoch;
    this.fleets = fleets;
    this.recovery = recovery;
    this.observe = observe;
    this.gone = gone;
  }

  Iterable<App> all() {
    return apps.values();
  }

  @Nullable App get(String name) {
    return apps.get(name);
  }

  // --- what is wanted ---

  void declare(DeclaredApplication declared, Turn turn) {
    App app = apps.get(declared.name());
    if (app == null) {
      app = new App(declared);
      app.building = true;
      apps.put(app.name, app);
    } else if (!app.withdrawn && declared.revision() < app.declared.revision()) {
      return; // late
    } else if (app.withdrawn
        || app.declared.revision() != declared.revision()
        || app.state().status() == ApplicationStatus.DEPLOY_FAILED) {
      app.building = true; // what failed is tried anew
    }
    app.withdrawn = false;
    app.declared = declared;
    app.scales.clear();
    app.scales.putAll(declared.scales());
    build(app, turn);
    turn.touch(app);
    adopt(app, turn);
  }

  private void build(App app, Turn turn) {
    app.discarded.clear();
    turn.add(new Build(epoch, app.name, app.declared.revision()));
  }

  void withdraw(String name, Turn turn) {
    App app = apps.get(name);
    if (app != null && !app.withdrawn) {
      withdraw(app, turn);
    }
  }

  private void withdraw(App app, Turn turn) {
    app.withdrawn = true;
    app.building = false;
    app.route = null;
    turn.add(new Unroute(epoch, app.name)); // before anything drains
    turn.touch(app);
  }

  void scale(ControllerEvent.Scaled event, Turn turn) {
    App app = apps.get(event.deployment().application());
    if (app == null) {
      return;
    }
    app.scales.put(event.deployment().name(), event.replicas());
    Fleet fleet = app.fleets.get(event.deployment());
    if (fleet != null && !fleet.deleting && !fleet.obsolete) {
      fleets.retarget(fleet, app.scaled(fleet.target), false, turn);
    }
  }

  // --- code ---

  void built(ControllerEvent.Built event, Turn turn) {
    App app = apps.get(event.application());
    BuiltApplication built = event.built();
    if (app == null) {
      turn.add(new DiscardBuild(epoch, event.application(), built.build()));
      return;
    }
    boolean wanted = !app.withdrawn && app.declared.revision() == event.revision();
    if (wanted && app.discarded.contains(built.build())) {
      build(app, turn); // it was found superfluous while this was on its way
      return;
    }
    app.builds.add(built.build());
    turn.touch(app);
    if (!wanted) {
      return; // it is discarded with the others that are not used
    }
    boolean deployed = app.building || app.buildFailure != null;
    app.building = false;
    app.buildFailure = null;
    app.built = built;
    app.prefix = app.declared.servedPrefix();
    adopt(app, turn);
    Set<DeploymentId> kept = new HashSet<>();
    for (DeploymentTarget each : built.targets()) {
      DeploymentTarget target = app.scaled(each);
      kept.add(target.id());
      Fleet fleet = app.fleets.get(target.id());
      if (fleet == null) {
        fleets.make(app, target, turn);
      } else if (fleet.held) {
        fleets.claim(fleet, target, turn);
      } else {
        fleets.retarget(fleet, target, deployed, turn);
      }
    }
    for (Fleet fleet : app.fleets.values()) {
      fleet.obsolete = !kept.contains(fleet.id);
      fleet.held = false;
    }
  }

  void buildFailed(ControllerEvent.BuildFailed event, Turn turn) {
    App app = apps.get(event.application());
    if (app == null || app.withdrawn || app.declared.revision() != event.revision()) {
      return;
    }
    app.building = false;
    app.buildFailure = event.reason();
    turn.touch(app);
    keepFound(app, turn);
  }

  /** Of what cannot be built as many as were found are to be kept, when all have been told of. */
  private void keepFound(App app, Turn turn) {
    if (app.buildFailure == null || app.building || app.withdrawn || recovery.isPending()) {
      return;
    }
    for (Fleet fleet : app.fleets.values()) {
      if (fleet.held) {
        int found = (int) fleet.members.values().stream().filter(Member::isActive).count();
        DeploymentTarget most =
            found == 0 && fleet.kept != null
                ? fleet.kept
                : fleet.mostCommonTarget().withReplicas(found);
        fleets.claim(fleet, app.scaled(most), turn);
      }
    }
  }

  // --- replicas of an earlier controller ---

  void inventory(ControllerEvent.Inventory inventory, Turn turn) {
    if (recovery.tell(inventory, turn.nowNanos)) {
      for (String name : recovery.unclaimed()) {
        App app = apps.get(name);
        if (app != null) {
          adopt(app, turn);
        }
      }
      ended(turn);
    }
  }

  /** The wait may be over: what was put off meanwhile is done. */
  void ended(Turn turn) {
    if (!recovery.isPending()) {
      for (App app : apps.values()) {
        keepFound(app, turn);
        app.fleets.values().forEach(turn::touch);
        turn.touch(app);
      }
    }
  }

  /** Replicas of applications that nobody declared are stopped as those of one that was deleted. */
  void stopUnclaimed(Turn turn) {
    for (String name : recovery.unclaimed()) {
      if (!apps.containsKey(name)) {
        App app = new App(DeclaredApplication.of(name, 0, null, "", 0));
        apps.put(name, app);
        adopt(app, turn);
        withdraw(app, turn);
      }
    }
  }

  private void adopt(App app, Turn turn) {
    Recovery.Unclaimed unclaimed = recovery.claim(app.name);
    for (DeploymentTarget complete : unclaimed.complete()) {
      app.builds.add(complete.build());
      if (app.built != null && !app.fleets.containsKey(complete.id())) {
        turn.add(new Remember(epoch, complete.id(), null)); // its code has it no more
      } else {
        fleets.recall(found(app, complete, turn), complete, turn);
      }
    }
    for (Found found : unclaimed.replicas()) {
      Fleet fleet = found(app, found.target(), turn);
      app.builds.add(found.target().build());
      if (found.next() != null) {
        app.builds.add(found.next().build());
      }
      fleets.adopt(fleet, found, turn);
      recovery.since(found).forEach(event -> observe.accept(event, turn));
    }
  }

  private Fleet found(App app, DeploymentTarget target, Turn turn) {
    Fleet known = app.fleets.get(target.id());
    if (known != null) {
      return known;
    }
    Fleet fleet = fleets.make(app, app.scaled(target), turn);
    fleet.held = app.built == null;
    fleet.obsolete = app.built != null; // its code has it no more
    return fleet;
  }

  // --- what follows from its deployments ---

  /** To be called when something of it, or of a deployment of it, has changed. */
  void settle(App app, Turn turn) {
    if (recovery.isPending()) {
      return;
    }
    removeWhatIsGone(app, turn);
    if (app.withdrawn) {
      drain(app, turn);
    } else {
      route(app, turn);
      deleteObsolete(app, turn);
    }
    for (String build : app.unused()) {
      app.builds.remove(build);
      app.discarded.add(build);
      turn.add(new DiscardBuild(epoch, app.name, build));
    }
    Announce state = app.state();
    if (!state.equals(app.announced)) {
      app.announced = state;
      turn.add(state);
    }
    if (app.withdrawn && app.fleets.isEmpty()) {
      remove(app, turn);
    }
  }

  private void removeWhatIsGone(App app, Turn turn) {
    for (Fleet fleet : List.copyOf(app.fleets.values())) {
      if (fleet.deleting && fleet.members.isEmpty()) {
        fleets.remove(fleet, turn);
        gone.accept(fleet.id);
      }
    }
  }

  /** The ingress first: what it has accepted may still call the others. */
  private void drain(App app, Turn turn) {
    Fleet ingress = app.ingress();
    if (ingress != null) {
      fleets.delete(ingress, turn);
    } else {
      app.fleets.values().forEach(fleet -> fleets.delete(fleet, turn));
    }
  }

  private void route(App app, Turn turn) {
    BuiltApplication built = app.built;
    Fleet ingress = app.ingress();
    if (built == null || ingress == null) {
      return;
    }
    App.Route now = app.route;
    boolean ready =
        ingress.isRoutable() || ingress.target.settings().get(DeploymentConfig.NUM_REPLICAS) == 0;
    DeploymentId to = ready || now == null ? ingress.id : now.ingress();
    App.Route next = new App.Route(app.prefix, to);
    if ((ready || now != null) && !Objects.equals(now, next)) {
      app.route = next;
      turn.add(new RouteTo(epoch, app.name, next.prefix(), next.ingress()));
    }
  }

  /** Replicas of an earlier version may still call them: they go last. */
  private void deleteObsolete(App app, Turn turn) {
    if (app.building || app.buildFailure != null) {
      return;
    }
    boolean over = true;
    boolean any = false;
    for (Fleet fleet : app.fleets.values()) {
      any |= fleet.obsolete && !fleet.deleting;
      over &= fleet.obsolete || fleet.isRolledOut();
    }
    if (any && over) {
      for (Fleet fleet : app.fleets.values()) {
        if (fleet.obsolete) {
          fleets.delete(fleet, turn);
        }
      }
    }
  }

  private void remove(App app, Turn turn) {
    apps.remove(app.name);
    app.builds.stream()
        .sorted()
        .forEach(build -> turn.add(new DiscardBuild(epoch, app.name, build)));
    turn.add(
        new Announce(
            app.name, app.declared.revision(), ApplicationStatus.NOT_STARTED, "", false, Set.of()));
  }
}
