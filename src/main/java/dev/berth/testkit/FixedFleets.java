package dev.berth.testkit;

import dev.berth.api.DeploymentId;
import dev.berth.config.DeploymentConfig;
import dev.berth.controller.BuiltApplication;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerAction.Announce;
import dev.berth.controller.ControllerAction.Build;
import dev.berth.controller.ControllerAction.Configure;
import dev.berth.controller.ControllerAction.DiscardBuild;
import dev.berth.controller.ControllerAction.Forget;
import dev.berth.controller.ControllerAction.Publish;
import dev.berth.controller.ControllerAction.RouteTo;
import dev.berth.controller.ControllerAction.StartReplica;
import dev.berth.controller.ControllerAction.StopReplica;
import dev.berth.controller.ControllerAction.Unroute;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.DeclaredApplication;
import dev.berth.controller.DeploymentTarget;
import dev.berth.controller.Epoch;
import dev.berth.protocol.ApplicationStatus;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.ReplicaPhase;
import dev.berth.protocol.RoutingSnapshot;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * In the controller's place: starts what is declared and publishes what runs, and nothing more. A
 * test says what becomes of a replica, so none is replaced, and none is tried again that failed to
 * start. Belongs to the thread of the test.
 */
final class FixedFleets {

  private static final class App {
    final String name;
    final Map<DeploymentId, Fleet> fleets = new LinkedHashMap<>();
    DeclaredApplication declared;
    @Nullable BuiltApplication built;
    ApplicationStatus status = ApplicationStatus.DEPLOYING;

    App(DeclaredApplication declared) {
      this.name = declared.name();
      this.declared = declared;
    }
  }

  /** The replicas of one deployment. */
  private static final class Fleet {
    final App app;
    final DeploymentId deployment;
    final DeploymentTarget target;
    final Map<String, Member> members = new LinkedHashMap<>(); // by replica id

    Fleet(App app, DeploymentTarget target) {
      this.app = app;
      this.deployment = target.id();
      this.target = target;
    }

    boolean isComplete() {
      return members.values().stream().filter(each -> each.phase == ReplicaPhase.RUNNING).count()
          >= target.settings().get(DeploymentConfig.NUM_REPLICAS);
    }
  }

  private static final class Member {
    final Fleet fleet;
    final String replicaId;
    ReplicaPhase phase = ReplicaPhase.STARTING;
    boolean healthy = true;
    @Nullable ReplicaInfo info; // once it runs

    Member(Fleet fleet, String replicaId) {
      this.fleet = fleet;
      this.replicaId = replicaId;
    }

    boolean isHealthy() {
      return phase == ReplicaPhase.RUNNING && healthy;
    }
  }

  private final Epoch epoch;
  private final Function<DeploymentId, String> replicaIds;
  private final Map<String, App> apps = new LinkedHashMap<>();
  private final Map<String, Member> members = new HashMap<>(); // of all fleets, by replica id
  private long counter; // of snapshots

  /**
   * @param epoch carried by every command; its term orders the snapshots
   * @param replicaIds a new id for a replica of a deployment, never the same twice
   */
  FixedFleets(Epoch epoch, Function<DeploymentId, String> replicaIds) {
    this.epoch = epoch;
    this.replicaIds = replicaIds;
  }

  /** Takes an event; one that changes nothing gives no actions. */
  List<ControllerAction> on(ControllerEvent event) {
    List<ControllerAction> actions = new ArrayList<>();
    if (event instanceof ControllerEvent.Declared declared) {
      declare(declared.application(), actions);
    } else if (event instanceof ControllerEvent.Withdrawn withdrawn) {
      withdraw(withdrawn.application(), actions);
    } else if (event instanceof ControllerEvent.Built built) {
      built(built, actions);
    } else if (event instanceof ControllerEvent.BuildFailed failed) {
      buildFailed(failed, actions);
    } else if (event instanceof ControllerEvent.ReplicaRunning running) {
      running(running.replica(), actions);
    } else if (event instanceof ControllerEvent.ReplicaDraining draining) {
      draining(draining.replicaId(), actions);
    } else if (event instanceof ControllerEvent.ReplicaHealth health) {
      health(health, actions);
    } else if (event instanceof ControllerEvent.ReplicaFailed failed) {
      failed(failed, actions);
    } else if (event instanceof ControllerEvent.ReplicaStopped stopped) {
      gone(members.get(stopped.replicaId()), actions);
    }
    return actions;
  }

  private void declare(DeclaredApplication declared, List<ControllerAction> actions) {
    App app = apps.get(declared.name());
    if (app == null) {
      app = new App(declared);
      apps.put(app.name, app);
      to(app, app.status, "", actions);
    }
    app.declared = declared;
    actions.add(new Build(epoch, app.name, declared.revision()));
  }

  private void built(ControllerEvent.Built event, List<ControllerAction> actions) {
    App app = apps.get(event.application());
    if (app == null
        || app.built != null
        || app.status == ApplicationStatus.DELETING
        || app.declared.revision() != event.revision()) {
      return;
    }
    app.built = event.built();
    for (DeploymentTarget target : event.built().targets()) {
      app.fleets.put(target.id(), new Fleet(app, target));
      actions.add(new Configure(epoch, target));
    }
    for (Fleet fleet : app.fleets.values()) {
      for (int i = 0; i < fleet.target.settings().get(DeploymentConfig.NUM_REPLICAS); i++) {
        actions.add(start(fleet));
      }
    }
  }

  private void buildFailed(ControllerEvent.BuildFailed event, List<ControllerAction> actions) {
    App app = apps.get(event.application());
    if (app != null
        && app.status != ApplicationStatus.DELETING
        && app.declared.revision() == event.revision()) {
      to(app, ApplicationStatus.DEPLOY_FAILED, event.reason(), actions);
    }
  }

  private StartReplica start(Fleet fleet) {
    Member member = new Member(fleet, replicaIds.apply(fleet.deployment));
    fleet.members.put(member.replicaId, member);
    members.put(member.replicaId, member);
    return new StartReplica(epoch, fleet.target, member.replicaId);
  }

  private StopReplica stop(Member member) {
    return new StopReplica(
        epoch,
        member.replicaId,
        member.fleet.target.settings().get(DeploymentConfig.GRACEFUL_SHUTDOWN_TIMEOUT_S),
        "its application is deleted");
  }

  private void withdraw(String application, List<ControllerAction> actions) {
    App app = apps.get(application);
    if (app == null || app.status == ApplicationStatus.DELETING) {
      return;
    }
    to(app, ApplicationStatus.DELETING, "", actions);
    for (Fleet fleet : app.fleets.values()) {
      for (Member member : fleet.members.values()) {
        if (member.phase != ReplicaPhase.STARTING) { // that one is stopped when it has started
          actions.add(stop(member));
        }
      }
    }
    removeIfEmpty(app, actions);
  }

  private void running(ReplicaInfo info, List<ControllerAction> actions) {
    Member member = members.get(info.replicaId());
    if (member == null) {
      actions.add(
          new StopReplica(epoch, info.replicaId(), Duration.ZERO, "nobody wants it any more"));
      return;
    }
    if (member.phase != ReplicaPhase.STARTING) {
      return;
    }
    Fleet fleet = member.fleet;
    member.phase = ReplicaPhase.RUNNING;
    member.info = info;
    if (fleet.app.status == ApplicationStatus.DELETING) {
      actions.add(stop(member));
      return;
    }
    actions.add(publish(fleet));
    if (fleet.app.status == ApplicationStatus.DEPLOYING
        && fleet.app.fleets.values().stream().allMatch(Fleet::isComplete)) {
      route(fleet.app, actions);
      to(fleet.app, ApplicationStatus.RUNNING, "", actions);
    }
  }

  private void route(App app, List<ControllerAction> actions) {
    BuiltApplication built = app.built;
    if (built != null) {
      DeploymentId ingress = new DeploymentId(app.name, built.ingress());
      actions.add(new RouteTo(epoch, app.name, app.declared.routePrefix(), ingress));
    }
  }

  private void draining(String replicaId, List<ControllerAction> actions) {
    Member member = members.get(replicaId);
    if (member != null && member.phase == ReplicaPhase.RUNNING) {
      member.phase = ReplicaPhase.DRAINING;
      actions.add(publish(member.fleet));
    }
  }

  private void health(ControllerEvent.ReplicaHealth health, List<ControllerAction> actions) {
    Member member = members.get(health.replicaId());
    if (member == null || member.healthy == health.healthy()) {
      return;
    }
    member.healthy = health.healthy();
    if (member.phase == ReplicaPhase.RUNNING) {
      actions.add(publish(member.fleet));
    }
  }

  private void failed(ControllerEvent.ReplicaFailed failed, List<ControllerAction> actions) {
    Member member = members.get(failed.replicaId());
    if (member == null) {
      return;
    }
    App app = member.fleet.app;
    if (app.status != ApplicationStatus.DELETING && app.status != ApplicationStatus.DEPLOY_FAILED) {
      to(app, ApplicationStatus.DEPLOY_FAILED, failed.reason(), actions);
    }
    gone(member, actions);
  }

  private void gone(@Nullable Member member, List<ControllerAction> actions) {
    if (member == null) {
      return;
    }
    Fleet fleet = member.fleet;
    members.remove(member.replicaId);
    fleet.members.remove(member.replicaId);
    actions.add(publish(fleet));
    removeIfEmpty(fleet.app, actions);
  }

  private void removeIfEmpty(App app, List<ControllerAction> actions) {
    if (app.status == ApplicationStatus.DELETING
        && app.fleets.values().stream().allMatch(fleet -> fleet.members.isEmpty())) {
      apps.remove(app.name);
      actions.add(new Unroute(epoch, app.name));
      for (DeploymentId deployment : app.fleets.keySet()) {
        actions.add(new Forget(epoch, deployment));
      }
      BuiltApplication built = app.built;
      if (built != null) {
        actions.add(new DiscardBuild(epoch, app.name, built.build()));
      }
      to(app, ApplicationStatus.NOT_STARTED, "", actions);
    }
  }

  private static void to(
      App app, ApplicationStatus status, String reason, List<ControllerAction> actions) {
    app.status = status;
    actions.add(
        new Announce(
            app.name,
            app.declared.revision(),
            status,
            reason,
            status == ApplicationStatus.RUNNING,
            Set.of()));
  }

  private Publish publish(Fleet fleet) {
    // Where every replica looks unhealthy the checks may be what is wrong: then all serve on.
    boolean anyHealthy = fleet.members.values().stream().anyMatch(Member::isHealthy);
    List<RoutingSnapshot.Route> routes = new ArrayList<>();
    for (Member member : fleet.members.values()) {
      if (member.info != null) {
        boolean routable = member.phase == ReplicaPhase.RUNNING && (member.healthy || !anyHealthy);
        routes.add(new RoutingSnapshot.Route(member.info, routable));
      }
    }
    // A deployment with something that may yet run keeps its callers waiting; else they are told.
    boolean available = !fleet.members.isEmpty();
    return new Publish(
        new RoutingSnapshot(
            fleet.deployment,
            new RoutingSnapshot.Version(epoch.term(), ++counter),
            available,
            routes));
  }
}
